package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/platform/trial"
	"tare/internal/platform/uml"
)

// faulty are programs that stand before the real ones and break as those do:
//   - a runtime that stops when its container runs, and hangs when it is to forget it;
//   - a daemon of another kind, which does not know what it is told;
//   - a monitor that uses more memory than its machine has;
//   - a kernel that never answers.
var faulty = map[string]string{
	"crun": `case "$*" in
*delete*) sleep 98764 ;;
*" run "*)
	for id in "$@"; do :; done
	exec 3<&0
	REAL "$@" <&3 &
	until REAL "$1" "$2" state "$id" 2>/dev/null | grep -q '"running"'; do sleep 0.05; done
	kill -STOP $!
	wait ;;
*) exec REAL "$@" ;;
esac`,
	"dockerd": `[ "$1" = --version ] && exec REAL --version
echo "unknown flag: --config-file" >&2
exit 2`,
	"qemu-system-x86_64": `case "$1" in --version | -machine) exec REAL "$@" ;; esac
exec REAL "$@" -m 4096 -mem-prealloc`,
	"linux.uml": `[ "$1" = --version ] && exec REAL --version
exec sleep 98764`,
}

// TestFaults provokes what can go wrong with each kind of platform: it is
// recorded as the outcome of the trial, with advice, the others' trials go on, and
// nothing is left behind.
func TestFaults(t *testing.T) {
	state := realState(t)
	dir := t.TempDir()
	for name, text := range faulty {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatalf("%s is not installed: ./test installs it", name)
		}
		text = "#!/bin/sh\n" + strings.ReplaceAll(text, "REAL", path) + "\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	spec := writeSpec(t, "native", `
  - {name: cpu, workload: sysbench-cpu, platforms: [native, crun, docker, qemu-tcg]}
  - {name: up, startup: true, platforms: [native, uml], timing: {deadline: 3s}}
  - {name: eat, workload: command, params: {argv: [sh, -c, 'x=a; while :; do x=$x$x; done']}, shape: {memory: 64MiB}, platforms: [native, podman]}
`)
	// A kernel that once answered, whatever this host's CPU does to it.
	found, err := uml.New().Check(t.Context())
	if err == nil {
		err = trial.Book{State: state}.Keep("tried-uml", found.Version, time.Now(), trial.Failure{})
	}
	if err != nil {
		t.Fatal(err)
	}
	results := filepath.Join(t.TempDir(), "results")
	p := startCommand(t, state, "env", "PATH="+dir+":"+os.Getenv("PATH"), filepath.Join(bin, "tare"), "run", spec, "-o", results, "-v")
	run := p.await(runID)[1]
	p.await(` cpu/native: measure$`)
	f := footprintOf(t, state, run)
	p.ends(exitHost)
	p.says("! open platform docker: ", "unknown flag: --config-file", "; its trials will fail")
	f.checkGone(t)

	if _, err := os.Stat("oom"); err == nil {
		t.Error("a note of conmon's is left where tare was started")
	}
	all := outcomes(t, results)
	byScene := map[string]*bench.Outcome{}
	for _, o := range all {
		byScene[o.Scene] = o
	}
	for scene, want := range map[string][3]string{
		"cpu/crun":     {"close", "crun delete: no end after", "the runtime hangs"},
		"cpu/docker":   {"launch", "docker's daemon died (exit status 2): unknown flag", "its last words"},
		"cpu/qemu-tcg": {"launch", "subject ran out of memory: the host's kernel killed a process of its control group", "shape.memory"},
		"up/uml":       {"launch", "waiting for the greeting: not up after 3s", "timing.deadline"},
		"eat/podman":   {"measure", "subject ran out of memory: the host's kernel killed", "shape.memory"},
		"eat/native":   {"measure", "subject ran out of memory: the host's kernel killed", "shape.memory"},
	} {
		o := byScene[scene]
		if o == nil {
			t.Errorf("%s has no outcome", scene)
		} else if o.Status != bench.Failed || o.Phase != want[0] || !strings.Contains(o.Error, want[1]) || !strings.Contains(o.Hint, want[2]) {
			t.Errorf("%s is %s in %s: %s (hint %q); want one in %s: %q with %q", scene, o.Status, o.Phase, o.Error, o.Hint, want[0], want[1], want[2])
		}
	}
	for _, scene := range []string{"cpu/native", "up/native"} {
		if o := byScene[scene]; o == nil || o.Status != bench.Done {
			t.Errorf("%s is not done: %+v", scene, o)
		}
	}
}

// TestFullState fills the disk of the state directory in a run: what follows
// fails and says why, and nothing stays that tare clean could not remove.
func TestFullState(t *testing.T) {
	images, err := filepath.EvalSymlinks(filepath.Join(realState(t), "images"))
	if err != nil {
		t.Fatal(err)
	}
	disk := t.TempDir()
	if err := unix.Mount("tare-test", disk, "tmpfs", 0, "size=16m"); err != nil {
		t.Skipf("a small disk cannot be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	state := filepath.Join(disk, "state")
	if err := os.Mkdir(state, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(images, filepath.Join(state, "images")); err != nil {
		t.Fatal(err)
	}
	spec := writeSpec(t, "native", "  - {name: write, workload: command, params: {argv: [sh, -c, 'head -c 1000000 /dev/zero >/scratch/file']}}\n")
	p := start(t, state, "plan", spec)
	p.ends(exitInvalid)
	p.says("64 MiB of scratch space are more than the ", "hint: ask for less, or keep the state directory on a larger disk")

	results := filepath.Join(t.TempDir(), "results")
	p = start(t, state, "run", spec, "-o", results, "-v", "--set", "shape.disk=4MiB", "--set", "blocks=2", "--set", "timing.cooldown=2s")
	run := p.await(runID)[1]
	f := footprintOf(t, state, run)
	p.await(`^1/2 `)
	ballast := filepath.Join(state, "ballast")
	if err := os.WriteFile(ballast, bytes.Repeat([]byte{1}, 32<<20), 0o600); err == nil {
		t.Fatal("the disk did not fill")
	}
	p.ends(exitHost)
	if text := p.stdout.String(); !strings.Contains(text, "hint: a disk is full: ") {
		t.Errorf("the report gives no advice:\n%s", text)
	}
	failed := 0
	for _, o := range outcomes(t, results) {
		if o.Status == bench.Failed {
			failed++
			if !strings.Contains(strings.ToLower(o.Error), "no space left on device") || !strings.Contains(o.Hint, "--state") {
				t.Errorf("%s failed with %q, hint %q", o.Trial, o.Error, o.Hint)
			}
		}
	}
	if failed != 1 {
		t.Errorf("%d of 2 trials failed, not the second alone", failed)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	start(t, state, "clean").ends(exitDone)
	f.checkGone(t)
}
