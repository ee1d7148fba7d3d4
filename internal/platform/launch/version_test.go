package launch

import (
	"os"
	"strings"
	"testing"
)

func TestParseVersion(t *testing.T) {
	for file, want := range map[string]string{
		"dockerd-20.10.txt": "20.10.24+dfsg1", "docker-28.txt": "28.2.2",
		"containerd-1.6.txt": "1.6.20~ds1", "runc-1.1.txt": "1.1.5+ds1",
		"crun-1.8.txt": "1.8.1", "runsc-2026.txt": "20260224.0", "runsc-unnumbered.txt": "VERSION_MISSING", "podman-4.3.txt": "4.3.1", "ctr-1.6.txt": "1.6.20~ds1",
		"bwrap.txt": "0.8.0", "systemd-nspawn.txt": "252.39-1~deb12u2", "linux.uml.txt": "6.1.176",
	} {
		text, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := parseVersion(string(text)); got != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", file, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"containerd containerd.io v1.7.27 05044ec0a9a75232cad458027ca83437aae3f4da":                                "1.7.27",
		`Kata Containers containerd shim (Golang): id: "io.containerd.kata.v2", version: 3.20.0, commit: 8b9ce3fe`: "3.20.0",
		"Kata Containers containerd shim (Rust): id: io.containerd.kata.v2, version: 3.2.0-rc0, commit: x":         "3.2.0-rc0",
		"runc version 1.3.0-rc.1+dev\ncommit: x":                                                                   "1.3.0-rc.1+dev",
	} {
		if got, err := parseVersion(text); got != want || err != nil {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
	if v, err := parseVersion("no such thing"); err == nil || !strings.Contains(err.Error(), "no such thing") {
		t.Errorf("got %q, %v", v, err)
	}
}

func FuzzParseVersion(f *testing.F) {
	f.Add("Docker version 20.10.24+dfsg1, build 5d6db84")
	f.Add("runc version 1.1.5+ds1\ncommit: 1.1.5+ds1-1+deb12u1\n")
	f.Fuzz(func(t *testing.T, text string) {
		v, err := parseVersion(text)
		if (err == nil) == (v == "") || !strings.Contains(text, v) {
			t.Errorf("%q: %q, %v", text, v, err)
		}
	})
}
