package agent

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// walk begins a walk of the tree with the agent's own children; sampleTree goes on from there.
func (t *treeSampler) walk() error {
	for _, p := range t.tree {
		p.seen = false
	}
	t.tree, t.scanned = t.tree[:0], false
	if _, err := os.Stat("/proc/thread-self/children"); err == nil {
		return t.addChildren(t.self, 2)
	}
	return t.scan()
}

// scan finds the tree among all processes, on a kernel without CONFIG_PROC_CHILDREN.
func (t *treeSampler) scan() error {
	t.scanned = true
	family, _, err := descendants(t.self)
	for _, p := range family {
		if err == nil {
			err = t.addProcess(p.pid)
		}
	}
	return err
}

// addChildren adds the children of a process, which each thread has its own of
// (proc_pid_task(5)).
func (t *treeSampler) addChildren(pid, threads int) error {
	task := "/proc/" + strconv.Itoa(pid) + "/task"
	tids := []string{strconv.Itoa(pid)}
	if threads != 1 {
		dir, err := os.Open(task)
		if err != nil {
			return unlessEnded(err)
		}
		tids, err = dir.Readdirnames(-1)
		dir.Close()
		if err != nil {
			return unlessEnded(err)
		}
	}
	for _, tid := range tids {
		children, err := t.readFile(task + "/" + tid + "/children")
		if err != nil {
			if err = unlessEnded(err); err != nil {
				return err
			}
			continue
		}
		for len(children) > 0 {
			var field []byte
			if field, children = nextField(children); len(field) == 0 {
				break
			}
			child, ok := parseInt(field)
			if !ok {
				return fmt.Errorf("children of %d: %.20q", pid, field)
			}
			if err := t.addProcess(int(child)); err != nil {
				return err
			}
		}
	}
	return nil
}

// addProcess adds a process to the tree, opening its files when it is new.
func (t *treeSampler) addProcess(pid int) error {
	p := t.known[pid]
	if p != nil && p.ended(t.buf) {
		p.close()
		delete(t.known, pid)
		p = nil
	}
	if p == nil {
		dir := "/proc/" + strconv.Itoa(pid)
		stat, err := unix.Open(dir+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return unlessEnded(err)
		}
		io, err := unix.Open(dir+"/io", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			io = -1
		}
		p = &process{pid: pid, stat: stat, io: io}
		t.known[pid] = p
	}
	if !p.seen {
		p.seen = true
		t.tree = append(t.tree, p)
	}
	return nil
}

// ended reports whether the process is gone, so that its id has a new owner.
func (p *process) ended(buf []byte) bool {
	_, err := unix.Pread(p.stat, buf, 0)
	return err == unix.ESRCH
}

func (p *process) close() {
	unix.Close(p.stat)
	if p.io >= 0 {
		unix.Close(p.io)
	}
}

// prune forgets the processes that a walk did not find.
func (t *treeSampler) prune() {
	for pid, p := range t.known {
		if !p.seen {
			p.close()
			delete(t.known, pid)
		}
	}
}

// readFile returns the content of a file, valid until the next read.
func (t *treeSampler) readFile(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	for n := 0; ; {
		got, err := unix.Read(fd, t.list[n:])
		if err != nil {
			return nil, err
		}
		if got == 0 {
			return t.list[:n], nil
		}
		if n += got; n == len(t.list) {
			t.list = append(t.list, make([]byte, n)...)
		}
	}
}

// unlessEnded drops an error that says no more than that a process has ended.
func unlessEnded(err error) error {
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// newestPID reads the last field of /proc/loadavg. A kernel that does not keep
// it writes 0.
func (t *treeSampler) newestPID() (int64, bool) {
	if t.loadavg == nil {
		return 0, false
	}
	b, err := t.loadavg.Read()
	if err != nil {
		return 0, false
	}
	line, _ := nextLine(b)
	var field, last []byte
	for field, line = nextField(line); len(field) > 0; field, line = nextField(line) {
		last = field
	}
	pid, ok := parseInt(last)
	return pid, ok && pid > 0
}
