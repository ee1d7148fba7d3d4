package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// killMarked kills every process whose environment holds TARE_ID=name and
// returns when none is left. A process may fork while others are killed, so it
// looks until it finds none.
func killMarked(ctx context.Context, name string) error {
	mark := []byte(bench.ProcessMark + "=" + name)
	for {
		pids, err := marked(mark)
		if err != nil {
			return err
		}
		if len(pids) == 0 {
			return nil
		}
		if err := killAll(ctx, pids, mark); err != nil {
			return err
		}
	}
}

// marked lists the processes that carry the mark, this one excepted.
func marked(mark []byte) ([]int, error) {
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, f := range files {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if err != nil || pid == os.Getpid() {
			continue
		}
		has, err := carries(pid, mark)
		if err != nil {
			return nil, err
		}
		if has {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// carries reports whether the process has the mark in its environment. One
// that is gone, or is a zombie, has none.
func carries(pid int, mark []byte) (bool, error) {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return false, nil
	}
	if errors.Is(err, fs.ErrPermission) {
		// Another user's, or one with capabilities this process lacks (ptrace(2),
		// access mode checking): nothing we have started.
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if bytes.Equal(v, mark) {
			return true, nil
		}
	}
	return false, nil
}

// killAll kills the processes, then waits until they have ended: one that does
// not keeps none of the others alive.
func killAll(ctx context.Context, pids []int, mark []byte) error {
	var errs []error
	killed := map[int]int{} // by number, the pidfd
	for _, pid := range pids {
		fd, err := kill(pid, mark)
		if err != nil {
			errs = append(errs, fmt.Errorf("kill process %d: %w", pid, err))
		} else if fd >= 0 {
			defer unix.Close(fd)
			killed[pid] = fd
		}
	}
	for pid, fd := range killed {
		if err := ended(ctx, fd); err != nil {
			errs = append(errs, fmt.Errorf("kill process %d: %w", pid, err))
		}
	}
	return errors.Join(errs...)
}

// kill kills the process through a pidfd, so that no other process that got its
// number can be hit, and returns it; -1 if the process is gone, or has no such mark.
func kill(pid int, mark []byte) (fd int, err error) {
	fd, err = unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL) {
		return -1, nil
	}
	if err != nil {
		return -1, err
	}
	has, err := carries(pid, mark)
	if err == nil && has {
		err = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}
	if errors.Is(err, unix.ESRCH) {
		err = nil
	}
	if err != nil || !has {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// pollMS is how long a wait for a process goes on before it looks at the
// context again, in milliseconds.
const pollMS = 100

// ended waits until the process of the pidfd has ended.
func ended(ctx context.Context, fd int) error {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, pollMS)
		if n > 0 {
			return nil
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("it does not end: %w", context.Cause(ctx))
		}
	}
}
