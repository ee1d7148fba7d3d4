package cache_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/platform/docker"
	"tare/internal/platform/libvirt"
	"tare/internal/state/cache"
)

func write(t *testing.T, state string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(state, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.Repeat("x", 5000)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func list(t *testing.T, state string) []cache.Thing {
	t.Helper()
	things, err := cache.List(state, []bench.Platform{docker.New(""), libvirt.KVM("")})
	if err != nil {
		t.Fatal(err)
	}
	return things
}

func TestListAndRemove(t *testing.T) {
	state := t.TempDir()
	write(t, state, "docker/overlay2/a", "docker.lock", "docker-btrfs.img", "docker-btrfs.lock", "libvirt/cache/x", "libvirt.lock",
		"kvm-qemu.json", "selftest/certificate.json", "ledger.jsonl", "images/a/root/b", "mine")
	var names []string
	for _, thing := range list(t, state) {
		names = append(names, thing.Name)
		if thing.Size < 5000 || thing.What == "" {
			t.Errorf("%+v", thing)
		}
	}
	if got := strings.Join(names, " "); got != "docker docker-btrfs.img libvirt/cache kvm-qemu.json" {
		t.Errorf("kept: %s", got)
	}
	f, err := os.Open(filepath.Join(state, "docker.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	for _, thing := range list(t, state) {
		err := cache.Remove(state, thing)
		if inUse := thing.Name == "docker"; (err != nil) != inUse || inUse && !strings.Contains(err.Error(), "in use") {
			t.Errorf("%s: %v", thing.Name, err)
		}
	}
	if left := list(t, state); len(left) != 1 || left[0].Name != "docker" {
		t.Errorf("%+v", left)
	}
	for _, name := range []string{"selftest/certificate.json", "ledger.jsonl", "images/a/root/b", "mine", "docker.lock"} {
		if _, err := os.Stat(filepath.Join(state, name)); err != nil {
			t.Error(err)
		}
	}
}

// A run is known where it began, as it was then, until what is kept is removed.
func TestBegun(t *testing.T) {
	state := t.TempDir()
	refused := func(run, digest, says string) {
		t.Helper()
		if err := cache.CheckBegun(state, run, digest); !errors.Is(err, bench.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s of %s: %v", digest, run, err)
		}
	}
	refused("20260102-030405-abcd", "sha256:1", "does not know of run 20260102-030405-abcd")
	if err := cache.Begin(state, "20260102-030405-abcd", "sha256:1"); err != nil {
		t.Fatal(err)
	}
	if err := cache.CheckBegun(state, "20260102-030405-abcd", "sha256:1"); err != nil {
		t.Error(err)
	}
	refused("20260102-030405-abcd", "sha256:2", "is not as it was when the run began")
	refused("20260102-030405-abce", "sha256:1", "does not know")
	if err := cache.Begin(state, "20260102-030405-abcd", "sha256:2"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("begun again: %v", err)
	}
	things := list(t, state)
	if len(things) != 1 || things[0].Name != "begun" {
		t.Fatalf("%+v", things)
	}
	if err := cache.Remove(state, things[0]); err != nil {
		t.Fatal(err)
	}
	refused("20260102-030405-abcd", "sha256:1", "tare clean --all")
}

// A directory that Tare has not used may hold another's docker and libvirt.
func TestOthersAreNotOurs(t *testing.T) {
	state := t.TempDir()
	write(t, state, "docker/overlay2/a", "libvirt/cache/x", "begun/mine")
	if things := list(t, state); len(things) != 0 {
		t.Errorf("%+v", things)
	}
}
