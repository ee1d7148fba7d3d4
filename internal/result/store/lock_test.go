package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// The lock is that of a regular file open for writing, since a directory cannot
// be locked on NFS.
func TestLockIsAFile(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir)
	for name, want := range map[string]error{lockFile: unix.EWOULDBLOCK, ".": nil} {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, want) {
			t.Errorf("lock of %s: %v, want %v", name, err, want)
		}
	}
	flags, err := unix.FcntlInt(w.lock.Fd(), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_ACCMODE != unix.O_RDWR {
		t.Errorf("open with flags %#o, %v", flags, err)
	}
}

// A run is still going on while another process has its lock, and reading does not hold it up.
func TestGoing(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir)
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if !r.Going() || w.Going() {
		t.Errorf("while it is written: %v, of the writer %v", r.Going(), w.Going())
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if r.Going() {
		t.Error("when it has ended")
	}
	again, _, err := OpenForResume(dir)
	if err != nil {
		t.Fatalf("after it was read: %v", err)
	}
	if err := errors.Join(again.Close(), os.Remove(filepath.Join(dir, lockFile))); err != nil || r.Going() {
		t.Errorf("without a lock: %v", err)
	}
}

// A folder is looked at before anything is built for it, and stays as it is.
func TestCheck(t *testing.T) {
	top := t.TempDir()
	busy, full, empty, none := filepath.Join(top, "busy"), filepath.Join(top, "full"), filepath.Join(top, "empty"), filepath.Join(top, "none")
	create(t, busy)
	for _, dir := range []string{full, empty} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(full, "mine"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{busy: ErrBusy.Error(), full: `"mine"`, empty: "", none: "", filepath.Join(full, "mine"): "not a directory"} {
		err := Check(dir)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", dir, err, want)
		}
		if err != nil && want != "not a directory" && bench.HintOf(err) == "" {
			t.Errorf("%s: no hint: %v", dir, err)
		}
	}
	for dir, want := range map[string]string{top: "busy empty full", full: "mine", empty: ""} {
		entries, err := os.ReadDir(dir)
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if got := strings.Join(names, " "); err != nil || got != want {
			t.Errorf("%s holds %q, %v, want %q", dir, got, err, want)
		}
	}
}
