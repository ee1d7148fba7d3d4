package host

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVersionIn reads the version from what programs of Debian 12 printed.
func TestVersionIn(t *testing.T) {
	for text, want := range map[string]string{
		"Docker version 20.10.24+dfsg1, build 5d6db84\n":                                              "20.10.24+dfsg1",
		"containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+deb12u3\n":               "1.6.20~ds1",
		"runc version 1.1.5+ds1\ncommit: 1.1.5+ds1-1+deb12u1\n":                                       "1.1.5+ds1",
		"QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)\n":                               "7.2.22",
		"mke2fs 1.47.0 (5-Feb-2023)\n\tUsing EXT2FS Library version 1.47.0\n":                         "1.47.0",
		"iptables v1.8.9 (nf_tables)\n":                                                               "1.8.9",
		"kmod version 30\n+ZSTD +XZ -ZLIB +LIBCRYPTO -EXPERIMENTAL\n":                                 "30",
		"Debian 'dpkg-deb' package archive backend version 1.21.22 (amd64).\nThis is free software; ": "1.21.22",
		"5.0.2\n":        "5.0.2",
		"usage: hello\n": "",
	} {
		if got := versionIn(text); got != want {
			t.Errorf("version in %q: %q, want %q", text, got, want)
		}
	}
}

func TestFindPrograms(t *testing.T) {
	dir := t.TempDir()
	script := func(name, text string) {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755))
	}
	script("good", `echo "good version 1.2.3"`)
	script("mute", "true")
	script("broken", "echo oh; exit 3")
	script("stuck", "sleep 60")
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	var programs []Program
	for _, name := range []string{"good", "mute", "broken", "stuck", "absent"} {
		programs = append(programs, Program{Name: name, Args: []string{"--version"}})
	}
	got := FindPrograms(context.Background(), programs)
	for i, want := range []struct{ version, problem string }{
		{"1.2.3", ""}, {"", "no version"}, {"", "exit status 3"}, {"", "killed"}, {"", "not installed"},
	} {
		p := got[i]
		if p.Version != want.version || !strings.Contains(p.Problem, want.problem) || (want.problem == "") != (p.Problem == "") {
			t.Errorf("%s: version %q, problem %q", p.Name, p.Version, p.Problem)
		}
		if (p.Path == "") != (p.Name == "absent") {
			t.Errorf("%s has path %q", p.Name, p.Path)
		}
	}
}

// TestProgramsAreComplete keeps the table usable for a hint: each row names a
// package and who needs it.
func TestProgramsAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Programs() {
		if p.Name == "" || p.Package == "" || len(p.For) == 0 || seen[p.Name] {
			t.Errorf("row %+v", p)
		}
		seen[p.Name] = true
	}
}

func TestMissing(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "keyring")
	must(t, os.WriteFile(file, nil, 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "there"), nil, 0o755))
	t.Setenv("PATH", dir)
	table := []Program{
		{Name: "there", For: []string{"image"}}, {Name: file, For: []string{"image"}},
		{Name: file + ".not", For: []string{"image"}}, {Name: "unpack", For: []string{"image"}},
		{Name: "dockerd-not", For: []string{"docker"}}, {Name: "mkfs-not", For: []string{"btrfs"}},
		{Name: "maybe-not", For: []string{"docker"}, Optional: true}, {Name: "look-not", For: []string{Tests}},
	}
	for _, c := range []struct{ words, want string }{
		{"", "keyring.not unpack"},
		{"docker", "keyring.not unpack dockerd-not"},
		{"docker btrfs", "keyring.not unpack dockerd-not mkfs-not"},
		{"tests", "keyring.not unpack dockerd-not mkfs-not look-not"},
	} {
		var got []string
		for _, p := range Missing(table, strings.Fields(c.words)) {
			got = append(got, filepath.Base(p.Name))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("for %q: %q, want %q", c.words, got, c.want)
		}
	}
}
