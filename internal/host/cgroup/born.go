package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Around runs f. A process that f starts with the given attributes is in the group from its start,
// so all its use is charged to the group. On v2 the kernel places it, by clone3(2) with
// CLONE_INTO_CGROUP. On v1 a child starts in the group of the thread that starts it, so Around
// moves the calling thread there and back. The calling thread must not be the process's first one,
// whose memory group is that of the whole process.
func (g *Group) Around(f func(born syscall.SysProcAttr) error) error {
	runtime.LockOSThread()
	back, err := g.moveThread()
	if err == nil {
		err = g.withAttributes(f)
	}
	if backErr := back(); backErr != nil {
		// The thread stays locked, and ends with its goroutine.
		return errors.Join(err, fmt.Errorf("leave cgroup %s: %w", g.name, backErr))
	}
	runtime.UnlockOSThread()
	return err
}

func (g *Group) withAttributes(f func(syscall.SysProcAttr) error) error {
	dir := g.dirs[Unified]
	if dir == "" {
		return f(syscall.SysProcAttr{})
	}
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("enter cgroup %s: %w", g.name, err)
	}
	defer d.Close()
	return f(syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(d.Fd())})
}

// moveThread moves the calling thread into the group in every v1 hierarchy. back returns it to its
// old groups.
func (g *Group) moveThread() (back func() error, err error) {
	back = func() error { return nil }
	if len(g.fs.v1) == 0 {
		return back, nil
	}
	if unix.Gettid() == unix.Getpid() {
		return back, fmt.Errorf("enter cgroup %s: on the first thread of the process", g.name)
	}
	home, err := g.fs.Of(unix.Gettid())
	if err != nil {
		return back, err
	}
	var done []string
	back = func() error { return joinThread(done) }
	for _, dir := range distinct(g.v1Dirs()) {
		for c := range g.fs.v1 {
			if g.dirs[c] == dir {
				done = append(done, home[c])
				break
			}
		}
		if err := joinThread([]string{dir}); err != nil {
			return back, fmt.Errorf("enter cgroup %s: %w", g.name, err)
		}
	}
	return back, nil
}

// v1Dirs returns the group's directories in v1 hierarchies.
func (g *Group) v1Dirs() map[string]string {
	dirs := g.Dirs()
	delete(dirs, Unified)
	return dirs
}

// joinThread moves the calling thread into the v1 groups.
func joinThread(dirs []string) error {
	var errs []error
	for _, dir := range dirs {
		errs = append(errs, write(filepath.Join(dir, "tasks"), "0"))
	}
	return errors.Join(errs...)
}
