// Package scripts_test tries the functions of setup.sh on an apt-get of its own.
package scripts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// apt stands in for apt-get: it knows the packages in $KNOWN, and answers in
// the words of apt 2.6.1.
const apt = `#!/bin/sh
last= dry= no= list=
for word; do
	case $word in
	--dry-run) dry=1 ;;
	--assume-no) no=1 ;;
	update) exit 0 ;;
	install) list=1 ;;
	-*) ;;
	*) [ -z "$list" ] || last="$last $word" ;;
	esac
done
for p in $last; do
	case " $KNOWN " in *" $p "*) ;; *) echo "E: Unable to locate package $p" >&2; exit 100 ;; esac
	[ -z "$dry" ] || echo "Inst $p (1.0 Debian:12/stable [amd64])"
done
[ -z "$no" ] || { echo "After this operation, 1,234 MB of additional disk space will be used."; exit 1; }
[ -n "$dry$no" ] || echo "installed$last" >>"$DONE"
`

// inSetup runs the line with the functions of setup.sh and the stand-in.
func inSetup(t *testing.T, known, line string, env ...string) (out string, status int, done string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "apt-get"), []byte(apt), 0o755); err != nil {
		t.Fatal(err)
	}
	head := `set -eu; . ./setup.sh; WORK=$(mktemp -d); LOG=$WORK/log; POLICY=$WORK/policy-rc.d; trap 'rm -rf "$WORK"' EXIT
		links() { [ -z "${LINKS:-}" ] || find "$LINKS" -type l | sort; }
		`
	cmd := exec.Command("sh", "-c", head+line)
	cmd.Env = append(os.Environ(), "CI=", "YES=", "TMPDIR="+dir, "KNOWN="+known, "DONE="+dir+"/done", "PATH="+dir+":"+os.Getenv("PATH"))
	cmd.Env = append(cmd.Env, env...)
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	installed, _ := os.ReadFile(dir + "/done") // none if nothing was
	return string(text), cmd.ProcessState.ExitCode(), string(installed)
}

// TestPackageOfTheRelease has the first name that a release knows.
func TestPackageOfTheRelease(t *testing.T) {
	for _, c := range []struct{ release, known, want string }{
		{"Debian 12", "docker.io kmod", "docker.io kmod "},
		{"Debian 13", "docker.io docker-cli kmod", "docker-cli kmod "},
		{"Ubuntu 24.04", "docker.io kmod", "docker.io kmod "},
		{"neither", "kmod", "docker-cli kmod "}, // apt says the rest
	} {
		out, status, _ := inSetup(t, c.known, `there_are "docker-cli|docker.io" kmod`)
		if status != 0 || out != c.want {
			t.Errorf("%s: %q, status %d; want %q", c.release, out, status, c.want)
		}
	}
}

func TestSetupAsksFirst(t *testing.T) {
	out, status, done := inSetup(t, "lxc kmod", "install_packages lxc kmod </dev/null")
	for _, want := range []string{"Missing: kmod lxc.", "2 package(s)", "1,234 MB", "None of their services is started", "YES=1", "CI=1"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in what is said without a terminal:\n%s", want, out)
		}
	}
	if status != 4 || done != "" {
		t.Errorf("status %d, and was done: %q", status, done)
	}
	out, status, done = inSetup(t, "lxc kmod", "install_packages lxc kmod </dev/null; ls -A $WORK | grep policy || true", "YES=1")
	if status != 0 || done != "installed kmod lxc\n" {
		t.Errorf("with YES=1: status %d, done %q\n%s", status, done, out)
	}
	if strings.Contains(out, "policy") {
		t.Errorf("the policy is left:\n%s", out)
	}
}

func TestUnknownPackageIsNamed(t *testing.T) {
	out, status, done := inSetup(t, "lxc", "install_packages lxc kmod", "YES=1")
	if status != 4 || done != "" || !strings.Contains(out, "apt-get cannot install kmod lxc") || !strings.Contains(out, "Unable to locate package kmod") {
		t.Errorf("status %d, done %q\n%s", status, done, out)
	}
}

// TestPackagesEnableNothing plays a package that has its daemon started at boot.
func TestPackagesEnableNothing(t *testing.T) {
	etc := t.TempDir()
	wants := filepath.Join(etc, "multi-user.target.wants")
	if err := os.MkdirAll(wants, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/lib/systemd/system/ssh.service", filepath.Join(wants, "ssh.service")); err != nil {
		t.Fatal(err)
	}
	out, status, _ := inSetup(t, "", `services_off; "$POLICY" && echo "starts are not refused"; ln -s /lib/systemd/system/docker.service "$LINKS/multi-user.target.wants/"; services_back`, "LINKS="+etc)
	if _, err := os.Lstat(filepath.Join(wants, "docker.service")); status != 0 || err == nil || strings.Contains(out, "not refused") {
		t.Errorf("status %d, %v\n%s", status, err, out)
	}
	if _, err := os.Lstat(filepath.Join(wants, "ssh.service")); err != nil {
		t.Errorf("what was there before is gone: %v", err)
	}
}
