package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/image"
	"tare/internal/state/ledger"
)

// realState returns a state directory of the test's own on the disk under
// test, with the images of this host, and so a ledger and a Docker data root
// nobody else uses. Without root or an image the test is skipped.
func realState(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("real runs take long")
	}
	if os.Geteuid() != 0 {
		t.Skip("real runs need root")
	}
	img, err := image.New(defaultState()).Open(t.Context())
	if err != nil {
		t.Skipf("real runs need the golden image (tare image build): %v", err)
	}
	img.Close()
	dir, err := os.MkdirTemp("/var/tmp", "tare-state-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// Whatever the test found, it must not stay on the host.
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := ledger.Clean(ctx, dir, true, func(ledger.Removed) {}); err != nil {
			t.Errorf("clean after the test: %v", err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Symlink(filepath.Join(defaultState(), "images"), filepath.Join(dir, "images")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// footprint is what a run may leave on the host, by names that are its own.
type footprint struct {
	state, run string
	testnets   []string // the network namespaces it had, as /proc names them
}

// footprintOf notes the network namespaces of a run that is going on.
func footprintOf(t *testing.T, state, run string) *footprint {
	t.Helper()
	f := &footprint{state: state, run: run}
	names, err := filepath.Glob(filepath.Join(bench.RuntimeDir, run, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		var fs unix.Statfs_t
		var st unix.Stat_t
		if unix.Statfs(name, &fs) == nil && fs.Type == unix.NSFS_MAGIC && unix.Stat(name, &st) == nil {
			f.testnets = append(f.testnets, fmt.Sprintf("net:[%d]", st.Ino))
		}
	}
	return f
}

// checkGone fails the test for everything that is left of the run. The kernel
// may take a moment to let go of what is closed.
func (f *footprint) checkGone(t *testing.T) {
	t.Helper()
	var left []string
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		left = slices.Concat(f.processes(), f.groups(), f.mounts(), f.loops(), f.links(), f.files(), f.locks(), f.registered())
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("left on the host of run %s:\n  %s", f.run, strings.Join(left, "\n  "))
			return
		}
	}
}

// processes are those that carry the run's mark or name, are in one of its
// network namespaces, or hold a file of its state directory. This process, which looks, is none.
func (f *footprint) processes() (left []string) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		if dir == fmt.Sprintf("/proc/%d", os.Getpid()) {
			continue // this process looks into the ledger itself
		}
		environ, _ := os.ReadFile(dir + "/environ")
		cmdline, _ := os.ReadFile(dir + "/cmdline")
		why := ""
		netns, _ := os.Readlink(dir + "/ns/net")
		switch {
		case bytes.Contains(environ, []byte(bench.ProcessMark+"="+f.run)):
			why = "carries its mark"
		case bytes.Contains(cmdline, []byte(f.run)):
			why = "has its name"
		// Another run's may have got the number of a namespace that is gone.
		case slices.Contains(f.testnets, netns) && !bytes.Contains(environ, []byte(bench.ProcessMark+"=")):
			why = "is in its network namespace"
		}
		fds, _ := filepath.Glob(dir + "/fd/*")
		for _, fd := range fds {
			if to, _ := os.Readlink(fd); strings.HasPrefix(to, f.state+"/") {
				why = "holds " + to
			}
		}
		if why != "" {
			left = append(left, fmt.Sprintf("process %s %s: %s", filepath.Base(dir), why, bytes.ReplaceAll(cmdline, []byte{0}, []byte{' '})))
		}
	}
	return left
}

// groups are control groups of the run, containers' among them, in any hierarchy.
func (f *footprint) groups() (left []string) {
	err := filepath.WalkDir("/sys/fs/cgroup", func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.Contains(d.Name(), f.run) {
			left = append(left, "cgroup "+path)
		}
		return nil // what vanishes meanwhile is not left
	})
	if err != nil {
		left = append(left, err.Error())
	}
	return left
}

func (f *footprint) mounts() (left []string) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return []string{err.Error()}
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, f.run) || strings.Contains(line, f.state) {
			left = append(left, "mount "+strings.TrimSpace(line))
		}
	}
	return left
}

func (f *footprint) loops() (left []string) {
	files, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, file := range files {
		if backing, _ := os.ReadFile(file); strings.HasPrefix(string(backing), f.state+"/") {
			left = append(left, "loop "+file)
		}
	}
	return left
}

// links are devices on the host's own network, where a run never makes any.
func (f *footprint) links() (left []string) {
	list, err := net.Interfaces()
	if err != nil {
		return []string{err.Error()}
	}
	for _, l := range list {
		if l.Name == "tarebr0" || strings.HasPrefix(l.Name, "wire") {
			left = append(left, "link "+l.Name)
		}
	}
	return left
}

func (f *footprint) files() (left []string) {
	for _, pattern := range []string{filepath.Join(f.state, "runs", "*"), filepath.Join(bench.RuntimeDir, f.run+"*")} {
		found, _ := filepath.Glob(pattern)
		for _, name := range found {
			left = append(left, "file "+name)
		}
	}
	return left
}

// locks are those on Docker's data root, if there is one.
func (f *footprint) locks() []string {
	lock, err := os.Open(filepath.Join(f.state, "docker.lock"))
	if err != nil {
		return nil
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return []string{"lock " + lock.Name()}
	}
	return nil
}

func (f *footprint) registered() (left []string) {
	led, err := ledger.Open(f.state, "test")
	if err != nil {
		return []string{err.Error()}
	}
	held, err := led.Held()
	if err != nil {
		return []string{err.Error()}
	}
	for _, e := range held {
		left = append(left, "ledger "+e.Kind+" "+e.Name)
	}
	return left
}
