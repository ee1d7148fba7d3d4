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

// Around runs f so that a process it starts with the given attributes is born
// in the group: nothing of it is charged elsewhere, and nothing is left to do
// once it runs. On v2 the kernel places it, by clone3(2) with
// CLONE_INTO_CGROUP; on v1 a child is born where the thread is that starts it, so the calling
// thread is moved there and back. It must not be the process's first thread,
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

// moveThread moves the calling thread into the group in every v1 hierarchy;
// back takes it to where it was.
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

// v1Dirs are the group's directories in hierarchies of version 1.
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
