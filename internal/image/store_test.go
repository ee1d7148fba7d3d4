package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host/tree"
)

// fakeStore builds with the stand-in for mmdebstrap in testdata/bin.
func fakeStore(t *testing.T, mode string) *Store {
	t.Helper()
	needRoot(t)
	if _, err := os.Stat(keyring); err != nil {
		t.Fatal("debian-archive-keyring is not installed: ./test installs it")
	}
	bin, err := filepath.Abs("testdata/bin")
	must(t, err)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("FAKE_MMDEBSTRAP", mode)
	dir := t.TempDir()
	t.Setenv("FAKE_DIR", dir)
	r := Golden()
	r.Kernel, r.Programs = "", []Program{{Name: "hello", Path: "/usr/bin/hello", Package: "hello"}}
	must(t, os.Chmod(dir, 0o700)) // or the store would not touch it, for what comes next is not Tare's
	must(t, os.Mkdir(filepath.Join(dir, "precious"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "precious/file"), nil, 0o644))
	return &Store{Dir: dir, Recipe: r, Ledger: &recorder{t: t, open: map[string]bool{}}}
}

// recorder is a ledger that checks its contract: registered before it is made,
// released once it is gone.
type recorder struct {
	t    *testing.T
	mu   sync.Mutex
	open map[string]bool
	seen int
}

func (r *recorder) Register(kind, name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open[kind+" "+name] = true
	r.seen++
	if _, err := os.Lstat(name); kind == bench.KindDir && err == nil {
		r.t.Errorf("%s was made before it was registered", name)
	}
	return nil
}

func (r *recorder) Release(kind, name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.open[kind+" "+name] {
		r.t.Errorf("%s %s is released but was never registered", kind, name)
	}
	delete(r.open, kind+" "+name)
	if _, err := os.Lstat(name); kind == bench.KindDir && err == nil {
		r.t.Errorf("%s was released before it was removed", name)
	}
	return nil
}

// settled checks that nothing is left of work in progress.
func settled(t *testing.T, s *Store) {
	t.Helper()
	if r := s.Ledger.(*recorder); len(r.open) > 0 {
		t.Errorf("the ledger still has %v", r.open)
	}
	left, err := fs.Glob(os.DirFS(s.images()), buildPrefix+"*")
	must(t, err)
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// safe checks that what a build binds into its tree is not removed with it,
// and that its mounts are gone.
func safe(t *testing.T, s *Store) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(s.Dir, "precious/file")); err != nil {
		t.Errorf("a file of the host was deleted through a mount: %v", err)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	must(t, err)
	if strings.Contains(string(mounts), s.Dir) {
		t.Errorf("mounts of the build are left on the host:\n%s", mounts)
	}
}

func build(t *testing.T, s *Store) *Image {
	t.Helper()
	i, err := s.Build(context.Background())
	must(t, err)
	t.Cleanup(func() { i.Close() })
	settled(t, s)
	return i
}

func TestBuildOpenListRemove(t *testing.T) {
	s := fakeStore(t, "")
	ctx := context.Background()
	_, err := s.Open(ctx)
	if !errors.Is(err, bench.ErrUnavailable) || bench.HintOf(err) != "tare image build" {
		t.Fatalf("open before build: %v, hint %q", err, bench.HintOf(err))
	}
	var said []string
	s.Progress = func(line string) { said = append(said, line) }
	i := build(t, s)
	if got := strings.Join(said, "\n"); !strings.Contains(got, "reading the package lists") || !strings.Contains(got, "built in") {
		t.Errorf("progress said:\n%s", got)
	}
	m := i.Manifest()
	if m.Digest != i.Digest() || m.Programs["hello"] != "1.2.3-4" || len(m.Packages) != 1 || m.Builder["mmdebstrap"] != "1.3.5" {
		t.Errorf("manifest: %+v", m)
	}
	root, err := i.Root(ctx)
	must(t, err)
	if id, err := os.ReadFile(filepath.Join(root, "etc/machine-id")); err != nil || len(id) > 0 {
		t.Errorf("etc/machine-id is %q, %v: want one that is filled at boot", id, err)
	}
	if to, err := os.Readlink(filepath.Join(root, "etc/systemd/system/timers.target")); err != nil || to != "/dev/null" {
		t.Errorf("timers.target leads to %q, %v", to, err)
	}
	if host, err := os.ReadFile(filepath.Join(root, "etc/hostname")); err != nil || string(host) != "tare\n" {
		t.Errorf("etc/hostname is %q, %v", host, err)
	}
	if _, _, err := i.Kernel(ctx); !errors.Is(err, bench.ErrUnavailable) {
		t.Errorf("a kernel from an image without one: %v", err)
	}

	// A second build is the first; a second store of another recipe is another image.
	again := build(t, s)
	if again.Digest() != i.Digest() {
		t.Errorf("built again: %s, then %s", i.Digest(), again.Digest())
	}
	other := *s
	other.Recipe.Dirs = []string{"scratch", "more"}
	o := build(t, &other)
	if o.Digest() == i.Digest() {
		t.Error("two recipes, one digest")
	}
	list, err := s.List()
	must(t, err)
	if len(list) != 2 || !list[0].Current || list[1].Current || list[0].Digest != i.Digest() || list[0].Size == 0 {
		t.Fatalf("list: %+v", list)
	}

	// In use, ambiguous, unknown, and then for good.
	if _, err := s.Remove(ctx, i.Digest()); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("removal of an open image: %v", err)
	}
	i.Close()
	again.Close()
	for _, prefix := range []string{"", "sha256:", "sha256:zz"} {
		if _, err := s.Remove(ctx, prefix); !errors.Is(err, bench.ErrInvalid) {
			t.Errorf("removal of %q: %v", prefix, err)
		}
	}
	gone, err := s.Remove(ctx, i.Digest()[:20])
	must(t, err)
	if gone.Digest != i.Digest() {
		t.Errorf("removed %s", gone.Digest)
	}
	settled(t, s)
	if _, err := s.Open(ctx); !errors.Is(err, bench.ErrUnavailable) {
		t.Errorf("open after removal: %v", err)
	}
}

func TestTamperedImageIsFound(t *testing.T) {
	s := fakeStore(t, "")
	ctx := context.Background()
	i := build(t, s)
	must(t, i.Verify(ctx))
	root, err := i.Root(ctx)
	must(t, err)
	hello := filepath.Join(root, "usr/bin/hello")

	// Touched but the same: a full look, and no alarm.
	must(t, os.Chtimes(hello, time.Now(), time.Now()))
	looked := false
	s.Progress = func(line string) { looked = looked || strings.Contains(line, "reading them all") }
	for n, want := range []bool{true, false} {
		looked = false
		j, err := s.Open(ctx)
		must(t, err)
		j.Close()
		if looked != want {
			t.Errorf("open %d after a touch: full look %v, want %v", n+1, looked, want)
		}
	}

	must(t, overwrite(hello, 3, 'X'))
	_, err = s.Open(ctx)
	if err == nil || !strings.Contains(err.Error(), "root/usr/bin/hello differs") || bench.HintOf(err) != string(rebuild) {
		t.Errorf("open of a tampered image: %v, hint %q", err, bench.HintOf(err))
	}
	if _, err := s.Build(ctx); err == nil {
		t.Error("build takes a tampered image for a built one")
	}
	must(t, overwrite(hello, 3, 'i')) // wrong again, then a listing changed to suit it
	entries, err := Scan(ctx, i.dir, "root")
	must(t, err)
	must(t, os.WriteFile(filepath.Join(i.dir, "listing"), Listing(i.manifest.RecipeHash, entries), 0o644))
	if err := i.Verify(ctx); err == nil || !strings.Contains(err.Error(), "its manifest says") {
		t.Errorf("verify with a forged listing: %v", err)
	}
}

func TestDamagedFilesOfTheStore(t *testing.T) {
	for _, c := range []struct{ file, content, want string }{
		{"manifest.json", "{}", "image manifest"},
		{"manifest.json", string(goodManifest(t)), "lies in directory"},
		{"listing", "", "its listing has digest"},
	} {
		s := fakeStore(t, "")
		i := build(t, s)
		i.Close()
		must(t, os.WriteFile(filepath.Join(i.dir, c.file), []byte(c.content), 0o644))
		must(t, os.Remove(filepath.Join(i.dir, "stamp")))
		_, err := s.Open(context.Background())
		if err == nil || !strings.Contains(err.Error(), c.want) || bench.HintOf(err) == "" {
			t.Errorf("%s: %v, hint %q", c.file, err, bench.HintOf(err))
		}
		list, err := s.List() // still listed, so that it can be removed
		must(t, err)
		if len(list) != 1 || (c.file == "manifest.json") != (list[0].Problem != "") {
			t.Errorf("%s: list %+v", c.file, list)
		}
		if _, err := s.Remove(context.Background(), list[0].Recipe); err != nil {
			t.Errorf("%s: %v", c.file, err)
		}
	}
}

func TestFailedBuilds(t *testing.T) {
	for _, c := range []struct{ mode, want, hint string }{
		{"full", "the disk is full", "make room"},
		{"download", "Temporary failure resolving", "reaches a Debian mirror"},
		{"unknown", "Unable to locate package no-such-package: invalid", "of Debian trixie"},
		{"broken", "E: mystery", ""},
	} {
		s := fakeStore(t, c.mode)
		_, err := s.Build(context.Background())
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(bench.HintOf(err), c.hint) {
			t.Errorf("%s: %v, hint %q", c.mode, err, bench.HintOf(err))
		}
		settled(t, s)
	}
	build(t, fakeStore(t, "download-once"))
}

func TestBuildSaysWhatIsMissing(t *testing.T) {
	s := fakeStore(t, "")
	path := os.Getenv("PATH")
	t.Setenv("PATH", t.TempDir())
	_, err := s.Build(context.Background())
	if !errors.Is(err, bench.ErrUnavailable) || bench.HintOf(err) != "apt install mmdebstrap" {
		t.Errorf("without mmdebstrap: %v, hint %q", err, bench.HintOf(err))
	}
	t.Setenv("PATH", path)
	s.Recipe.Programs = []Program{{Name: "absent", Path: "/usr/bin/absent", Package: "absent"}}
	if _, err := s.Build(context.Background()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a program that is not in the tree: %v", err)
	}
	settled(t, s)
}

func TestCancelledBuildLeavesNothing(t *testing.T) {
	s := fakeStore(t, "hang")
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := errors.New("stop")
	done := make(chan error)
	go func() {
		_, err := s.Build(ctx)
		done <- err
	}()
	children := waitForChildren(t, s)
	cancel(stop)
	if err := <-done; !errors.Is(err, stop) {
		t.Errorf("cancelled build: %v", err)
	}
	gone(t, children)
	settled(t, s)
	safe(t, s)
}

func TestTwoBuildsTakeTurns(t *testing.T) {
	s := fakeStore(t, "")
	var wg sync.WaitGroup
	digests := make([]string, 3)
	for n := range digests {
		wg.Go(func() {
			i, err := s.Build(context.Background())
			if err != nil {
				t.Error(err)
				return
			}
			digests[n] = i.Digest()
			i.Close()
		})
	}
	wg.Wait()
	settled(t, s)
	if digests[0] == "" || digests[0] != digests[1] || digests[1] != digests[2] {
		t.Errorf("digests %v", digests)
	}
	if r := s.Ledger.(*recorder); r.seen != 2 { // one directory, one process
		t.Errorf("%d things were made for one build", r.seen)
	}
}

// TestKilledBuild kills a process in the middle of a build: its lock is free,
// what it left counts for nothing, its child is gone, and the next build works.
func TestKilledBuild(t *testing.T) {
	if dir := os.Getenv("TARE_TEST_BUILD_IN"); dir != "" {
		s := fakeStore(t, "hang")
		s.Dir = dir
		s.Build(context.Background())
		return
	}
	s := fakeStore(t, "")
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledBuild$")
	cmd.Env = append(os.Environ(), "TARE_TEST_BUILD_IN="+s.Dir)
	must(t, cmd.Start())
	children := waitForChildren(t, s)
	must(t, cmd.Process.Kill())
	cmd.Wait()
	gone(t, children)
	safe(t, s)
	if list, err := s.List(); err != nil || len(list) != 0 {
		t.Errorf("after the kill: %+v, %v", list, err)
	}
	build(t, s)
	safe(t, s)
}

// waitForChildren returns the processes of the stand-in once it hangs.
func waitForChildren(t *testing.T, s *Store) []int {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if found, _ := fs.Glob(os.DirFS(s.images()), buildPrefix+"*/tmp/hanging"); len(found) == 0 {
			continue
		}
		var pids []int
		environs, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, path := range environs {
			data, _ := os.ReadFile(path)
			var pid int
			fmt.Sscanf(path, "/proc/%d/", &pid)
			if strings.Contains(string(data), "TMPDIR="+s.images()) {
				pids = append(pids, pid)
			}
		}
		if len(pids) < 2 {
			t.Fatalf("processes %v of a build, want the stand-in and its child", pids)
		}
		return pids
	}
	t.Fatal("the build did not come as far as mmdebstrap")
	return nil
}

// gone waits until none of the processes is left.
func gone(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		for deadline := time.Now().Add(10 * time.Second); syscall.Kill(pid, 0) == nil; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("process %d of the ended build lives on", pid)
			}
		}
	}
}

// TestRemovalStopsAtMounts has a mount inside a finished image and inside what
// a build left: neither is removed, and what is mounted stays whole.
func TestRemovalStopsAtMounts(t *testing.T) {
	s := fakeStore(t, "")
	i := build(t, s)
	i.Close()
	for _, dir := range []string{filepath.Join(i.dir, "root/scratch"), filepath.Join(s.images(), buildPrefix+"old/a b")} {
		must(t, os.MkdirAll(dir, 0o755))
		if err := unix.Mount(filepath.Join(s.Dir, "precious"), dir, "", unix.MS_BIND, ""); err != nil {
			t.Skipf("cannot mount here: %v", err)
		}
		unmount := func() { unix.Unmount(dir, unix.MNT_DETACH) }
		t.Cleanup(unmount)
		if err := tree.Remove(filepath.Dir(dir)); err == nil || bench.HintOf(err) != "umount "+dir {
			t.Errorf("removal above the mount %s: %v, hint %q", dir, err, bench.HintOf(err))
		}
		if _, err := s.Build(context.Background()); err == nil && strings.Contains(dir, buildPrefix) {
			t.Error("a build swept through a mount")
		}
		if _, err := s.Remove(context.Background(), i.Digest()); err == nil && !strings.Contains(dir, buildPrefix) {
			t.Error("an image was removed with a mount in it")
		}
		if _, err := os.Stat(filepath.Join(s.Dir, "precious/file")); err != nil {
			t.Fatalf("deleted through the mount: %v", err)
		}
		unmount()
	}
}

func TestLockWaitsNoLongerThanItsContext(t *testing.T) {
	s := &Store{Dir: t.TempDir()}
	unlock, err := s.lock(context.Background())
	must(t, err)
	defer unlock()
	ctx, cancel := context.WithCancel(context.Background())
	s.Progress = func(string) { cancel() } // as soon as it says that it waits
	if _, err := s.lock(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("second lock: %v", err)
	}
}

func TestDiskFullIsSaid(t *testing.T) {
	err := diskFull(&fs.PathError{Op: "write", Path: "x", Err: unix.ENOSPC}, t.TempDir())
	if !strings.Contains(err.Error(), "the disk is full") || !errors.Is(err, unix.ENOSPC) || bench.HintOf(err) == "" {
		t.Errorf("%v, hint %q", err, bench.HintOf(err))
	}
	if err := diskFull(nil, ""); err != nil {
		t.Error(err)
	}
}

// An image is held by the lock of a regular file open for writing, since a
// directory cannot be locked on NFS.
func TestLockIsAFile(t *testing.T) {
	s := fakeStore(t, "")
	i := build(t, s)
	for name, want := range map[string]error{lockFile: unix.EWOULDBLOCK, ".": nil} {
		f, err := os.Open(filepath.Join(i.dir, name))
		must(t, err)
		defer f.Close()
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, want) {
			t.Errorf("lock of %s: %v, want %v", name, err, want)
		}
	}
	flags, err := unix.FcntlInt(i.hold.Fd(), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_ACCMODE != unix.O_RDWR {
		t.Errorf("open with flags %#o, %v", flags, err)
	}
	i.Close()
	// One of an earlier version is held, and removed, like any other; while it is being removed nobody has it.
	must(t, os.Remove(filepath.Join(i.dir, lockFile)))
	again, err := s.Open(context.Background())
	must(t, err)
	if _, err := s.Remove(context.Background(), i.Digest()); !errors.Is(err, unix.EWOULDBLOCK) || bench.HintOf(err) == "" {
		t.Errorf("removed while it is held: %v", err)
	}
	again.Close()
	held, err := hold(i.dir, unix.LOCK_EX)
	must(t, err)
	if _, err := s.Open(context.Background()); err == nil || !strings.Contains(err.Error(), "being removed") {
		t.Errorf("opened while it is being removed: %v", err)
	}
	held.Close()
	_, err = s.Remove(context.Background(), i.Digest())
	must(t, err)
}
