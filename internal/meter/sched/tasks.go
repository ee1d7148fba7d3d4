package sched

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"tare/internal/host/proc"
)

// A group is a control group with those below it.
type group struct {
	dir   string
	list  string // the file of a group that lists its tasks
	usage string // the file that tells the CPU time of all that were ever in it
	parse func([]byte) (seconds float64, ok bool)
}

// groupOf chooses the hierarchy that accounts for CPU time.
func groupOf(dirs map[string]string) (g group, unified bool, err error) {
	if dir := dirs["cpuacct"]; dir != "" {
		return group{dir, "tasks", "cpuacct.usage", func(b []byte) (float64, bool) {
			ns, ok := proc.Single(b)
			return ns / 1e9, ok
		}}, false, nil
	}
	if dir := dirs["unified"]; dir != "" {
		return group{dir, "cgroup.threads", "cpu.stat", func(b []byte) (float64, bool) {
			us, ok := proc.Keyed(b, "usage_usec")
			return us / 1e6, ok
		}}, true, nil
	}
	return group{}, false, errors.New("no control group accounts for the instance's CPU time")
}

// inode is the number of a group's directory, which is the group's.
func (g group) inode() (uint64, error) {
	var s unix.Stat_t
	if err := unix.Stat(g.dir, &s); err != nil {
		return 0, &fs.PathError{Op: "stat", Path: g.dir, Err: err}
	}
	return s.Ino, nil
}

// ran is the CPU time of every task that ever was in the group, in seconds.
func (g group) ran() (float64, error) {
	b, err := os.ReadFile(filepath.Join(g.dir, g.usage))
	if err != nil {
		return 0, err
	}
	s, ok := g.parse(b)
	if !ok {
		return 0, fmt.Errorf("%s: no CPU time in %q", filepath.Join(g.dir, g.usage), b)
	}
	return s, nil
}

// each calls f for every task in the group and below. A group that ends meanwhile has none.
func (g group) each(f func(tid int) error) error {
	return filepath.WalkDir(g.dir, func(path string, d fs.DirEntry, err error) error {
		if gone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if !d.IsDir() {
			return nil
		}
		b, err := os.ReadFile(filepath.Join(path, g.list))
		if gone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		for line := range bytes.Lines(b) {
			tid, err := strconv.Atoi(string(bytes.TrimSpace(line)))
			if err != nil {
				return fmt.Errorf("%s: %q is not a task", filepath.Join(path, g.list), line)
			}
			if err := f(tid); err != nil {
				return err
			}
		}
		return nil
	})
}

// gone says that a group or a task has ended, or that a group holds groups only.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EOPNOTSUPP)
}

// A reading is of one task.
type reading struct {
	proc.Task
	proc.Sched
}

// buffers are used for one task after the other.
type buffers struct{ stat, sched [1024]byte }

// read reads a task; ok is false for one that is gone.
func (u *buffers) read(procDir string, tid int) (r reading, ok bool, err error) {
	name := strconv.Itoa(tid)
	dir := filepath.Join(procDir, name, "task", name)
	b, err := readInto(u.sched[:], filepath.Join(dir, "schedstat"))
	if err == nil && len(b) > 0 {
		if r.Sched, err = proc.ParseSched(b); err != nil {
			return r, false, fmt.Errorf("task %d: %w", tid, err)
		}
		if b, err = readInto(u.stat[:], filepath.Join(dir, "stat")); err == nil && len(b) > 0 {
			if r.Task, err = proc.ParseTask(b); err != nil {
				return r, false, fmt.Errorf("task %d: %w", tid, err)
			}
			return r, true, nil
		}
	}
	if err == nil || gone(err) {
		return r, false, nil
	}
	return r, false, fmt.Errorf("task %d: %w", tid, err)
}

// readInto reads a short file at a third of what os.ReadFile costs.
func readInto(buf []byte, path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	n, err := unix.Read(fd, buf)
	unix.Close(fd)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return buf[:n], nil
}
