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
		for _, pid := range pids {
			if err := killOne(ctx, pid, mark); err != nil {
				return fmt.Errorf("kill process %d: %w", pid, err)
			}
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

// pollMS is how long a wait for a process goes on before it looks at the
// context again, in milliseconds.
const pollMS = 100

// killOne kills the process through a pidfd, so that no other process that got
// its number can be hit, and waits until it has ended.
func killOne(ctx context.Context, pid int, mark []byte) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if has, err := carries(pid, mark); err != nil || !has {
		return err
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil {
		if errors.Is(err, unix.ESRCH) {
			return nil
		}
		return err
	}
	for {
		ended, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, pollMS)
		if ended > 0 {
			return nil
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("it does not end: %w", ctx.Err())
		}
	}
}
