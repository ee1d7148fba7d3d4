package docker

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/bench"
)

// The command lines are those of Kata 3 under Docker, with QEMU and the Go shim.
func TestKataHelpers(t *testing.T) {
	const id = "4f2a0c7d1e9b5a3846c1d0e7f8a9b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3"
	other := strings.Repeat("0", 64)
	proc := t.TempDir()
	for pid, line := range map[int]string{
		100: "/opt/kata/bin/containerd-shim-kata-v2 -namespace moby -address /run/containerd.sock -publish-binary /usr/bin/containerd -id " + id,
		101: "/opt/kata/bin/containerd-shim-kata-v2 -namespace moby -address /run/containerd.sock -publish-binary /usr/bin/containerd -id " + other,
		110: "/opt/kata/libexec/virtiofsd --fd=3 --cache=auto --shared-dir=/run/kata-containers/shared/sandboxes/" + id + "/shared",
		111: "/opt/kata/libexec/virtiofsd --fd=3 --cache=auto --shared-dir=/run/kata-containers/shared/sandboxes/" + other + "/shared",
		120: "/opt/kata/bin/qemu-system-x86_64 -name sandbox-" + id + ",debug-threads=on -machine q35",
		130: "less /var/log/" + id,
		140: "",
	} {
		dir := filepath.Join(proc, strconv.Itoa(pid))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "cmdline"), []byte(strings.ReplaceAll(line, " ", "\x00")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := kataHelpers(proc, id, 120)
	want := []bench.Process{{PID: 120, Part: "vmm", Threads: kataThreads}, {PID: 100, Part: "shim"}, {PID: 110, Part: "virtiofsd"}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
	if got, err := kataHelpers(proc, strings.Repeat("1", 64), 120); err == nil || !strings.Contains(err.Error(), shimKata) {
		t.Errorf("without a shim: %v, %v", got, err)
	}
}

func TestDockerHasShims(t *testing.T) {
	for version, ok := range map[string]bool{"23.0.1": true, "28.2.2": true, "20.10.24+dfsg1": false, "": false, "x.1": false} {
		err := dockerHasShims(version)
		if (err == nil) != ok || !strings.Contains(version, "x") && version != "" && !ok && !errors.Is(err, bench.ErrUnavailable) {
			t.Errorf("%q: %v", version, err)
		}
	}
}

func TestKataAbsent(t *testing.T) {
	if path, err := findKata(); err == nil {
		t.Skipf("%s is installed here", path)
	}
	err := available(t.Context(), kata)
	if !errors.Is(err, bench.ErrUnavailable) || !strings.Contains(err.Error(), shimKata+" is not installed") ||
		!strings.Contains(bench.HintOf(err), "https://github.com/kata-containers/") {
		t.Errorf("%v (hint %q)", err, bench.HintOf(err))
	}
}

// With a shim, what dockerd is decides; without root nothing of it is started.
func TestKataPresent(t *testing.T) {
	dir := t.TempDir()
	for name, says := range map[string]string{
		shimKata:  `Kata Containers containerd shim (Golang): id: "io.containerd.kata.v2", version: 3.20.0, commit: x`,
		"dockerd": "Docker version 28.2.2, build 28.2.2-0",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho '"+says+"'\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	if err := available(t.Context(), kata); err != nil {
		t.Error(err)
	}
	if got := runtimes(t.Context(), nil)[kata]; got.Shim != filepath.Join(dir, shimKata) || got.Path != "" {
		t.Errorf("dockerd is told %+v", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "dockerd"), []byte("#!/bin/sh\necho Docker version 20.10.24+dfsg1, build 297e128\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, told := runtimes(t.Context(), nil)[kata]; told {
		t.Error("a dockerd that takes no shims is told of one")
	}
	if err := available(t.Context(), kata); err == nil || !strings.Contains(bench.HintOf(err), "23") {
		t.Errorf("%v (hint %q)", err, bench.HintOf(err))
	}
}

func TestKataHasNoHostNetwork(t *testing.T) {
	for _, c := range []struct {
		runtime, net string
		ok           bool
	}{{kata, "host", false}, {kata, "bridge", true}, {kata, "none", true}, {"runc", "host", true}} {
		if err := checkKata(map[string]string{"runtime": c.runtime, "net": c.net}); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
