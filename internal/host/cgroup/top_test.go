package cgroup

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// top returns a function that reads the top group's enabled controllers. It skips the test if no
// controller is in v2.
func top(t *testing.T) (*FS, func() []string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("making cgroups needs root")
	}
	fs, err := Detect()
	if err != nil {
		t.Skip(err)
	}
	if !fs.delegates() {
		t.Skip("no controller is version 2's here: TestInGuest runs it where all are")
	}
	return fs, func() []string {
		on, err := enabled(fs.unified.dir)
		if err != nil {
			t.Fatal(err)
		}
		return on
	}
}

// groups makes groups of the names. It removes what is left of them when the test ends.
func groups(t *testing.T, fs *FS, names ...string) (all []*Group) {
	t.Helper()
	for _, name := range names {
		g, _, err := fs.Create(name, Limits{Quota: 0.5, CPUSet: []int{0}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := g.End(t.Context()); err != nil && t.Context().Err() == nil {
				t.Error(err)
			}
		})
		all = append(all, g)
	}
	return all
}

func remove(t *testing.T, g *Group) {
	t.Helper()
	if err := g.Remove(); err != nil {
		t.Fatal(err)
	}
}

// Controllers that our groups and runtimes in them enable at the top are disabled with the last
// group.
func TestTopPutBack(t *testing.T) {
	fs, on := top(t)
	before := on()
	g := groups(t, fs, "test-a/one", "test-b/one")
	if now := on(); !slices.Contains(now, "cpu") || !slices.Contains(now, "cpuset") {
		t.Fatalf("handed down: %v", now)
	}
	for c := range fs.v2 { // as libcontainer does
		_ = write(filepath.Join(fs.unified.dir, subtree), "+"+c)
	}
	with := on()
	if slices.Equal(with, before) {
		t.Fatalf("nothing was switched on: %v", with)
	}
	remove(t, g[0])
	if now := on(); !slices.Equal(now, with) {
		t.Errorf("with a group left: %v, want %v", now, with)
	}
	remove(t, g[1])
	if now := on(); !slices.Equal(now, before) {
		t.Errorf("after the last group: %v, want %v", now, before)
	}
	if _, err := os.Stat(filepath.Dir(filepath.Dir(g[1].dirs[Unified]))); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("our group is still there: %v", err)
	}
}

// The same holds if the process that made the groups was killed at any moment and another removes
// them.
func TestTopPutBackAfterKill(t *testing.T) {
	fs, on := top(t)
	before := on()
	maker := exec.Command("/proc/self/exe")
	maker.Env = append(os.Environ(), partVar+"=make")
	begin, err := maker.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := maker.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := maker.Start(); err != nil {
		t.Fatal(err)
	}
	begin.Write([]byte{1})
	if _, err := out.Read(make([]byte, 1)); err != nil { // it has made its groups
		t.Fatal(err)
	}
	if err := maker.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	maker.Wait()
	if slices.Equal(on(), before) {
		t.Fatal("nothing was switched on")
	}
	// This is the state after a kill during the restore.
	if err := os.Mkdir(filepath.Join(fs.dirs(".")[Unified], untouched), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Remove(t.Context(), "test-killed/one"); err != nil {
		t.Fatal(err)
	}
	if now := on(); !slices.Equal(now, before) {
		t.Errorf("after the group was removed: %v, want %v", now, before)
	}
	// This is the state after a kill before any group is in ours.
	if err := fs.note(); err != nil {
		t.Fatal(err)
	}
	if err := fs.delegate(fs.unified.dir); err != nil {
		t.Fatal(err)
	}
	if err := Remove(t.Context(), "test-killed/two"); err != nil {
		t.Fatal(err)
	}
	if now := on(); !slices.Equal(now, before) {
		t.Errorf("after none was made: %v, want %v", now, before)
	}
}

// Controllers that others use by now stay enabled and keep their settings.
func TestTopLeavesOthers(t *testing.T) {
	fs, on := top(t)
	before := on()
	g := groups(t, fs, "test-c/one")
	other := filepath.Join(fs.unified.dir, "test-other")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	defer func() {
		os.Remove(other)
		for _, c := range []string{"cpuset", "pids"} {
			if !slices.Contains(before, c) {
				_ = write(filepath.Join(fs.unified.dir, subtree), "-"+c)
			}
		}
	}()
	for file, value := range map[string]string{"cpuset.cpus": "0", subtree: "+pids"} {
		if err := write(filepath.Join(other, file), value); err != nil {
			t.Fatal(err)
		}
	}
	remove(t, g[0])
	want := append(slices.Clone(before), "cpuset", "pids")
	slices.Sort(want)
	now := on()
	slices.Sort(now)
	if !slices.Equal(now, slices.Compact(want)) {
		t.Errorf("handed down: %v, want %v", now, want)
	}
	if text, err := os.ReadFile(filepath.Join(other, "cpuset.cpus")); err != nil || string(text) != "0\n" {
		t.Errorf("the other group's CPUs: %q, %v", text, err)
	}
}

// A process that never releases the lock does not block others forever.
func TestTopHeld(t *testing.T) {
	fs, _ := top(t)
	d, err := os.Open(fs.unified.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := unix.Flock(int(d.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if _, err := fs.hold(); !errors.Is(err, unix.EWOULDBLOCK) {
		t.Errorf("held twice: %v", err)
	}
}
