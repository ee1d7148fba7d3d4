package host

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/bench"
)

// TestVersionIn reads the version from the output of Debian 12's programs.
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

// needy is a platform that needs programs.
type needy struct {
	bench.Platform
	name     string
	programs []bench.Program
}

func (n needy) Name() string         { return n.name }
func (n needy) Traits() bench.Traits { return bench.Traits{Programs: n.programs} }

// A program that several need has one row, and is optional if it is for all of them.
func TestProgramsOfPlatforms(t *testing.T) {
	rows := map[string]Program{}
	list := Programs([]bench.Platform{
		needy{name: "a", programs: []bench.Program{{Name: "one", Package: "p", Optional: true}, {Name: "xz"}, {Name: "mute", Package: "p", Mute: true, Optional: true}}},
		needy{name: "b", programs: []bench.Program{{Name: "one", Package: "p"}, {Name: "fs", Package: "p", Args: []string{"-V"}, For: "btrfs"}, {Name: "jq"}}},
	})
	for _, p := range list {
		rows[p.Name] = p
	}
	if len(rows) != len(list) {
		t.Errorf("%d rows for %d programs", len(list), len(rows))
	}
	for name, want := range map[string]string{
		"one": "[a b] false [--version]", "mute": "[a] true []", "fs": "[btrfs] false [-V]", "xz": "[image a] false [--version]",
		"jq": "[b tests] false [--version]", "snmpd": "[tests] false []",
	} {
		if p := rows[name]; fmt.Sprint(p.For, p.Optional, p.Args) != want {
			t.Errorf("%s: %v %v %v, want %s", name, p.For, p.Optional, p.Args, want)
		}
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
