// Package tool runs programs of the host that do one thing and end, each with a
// deadline of its own: one that hangs in the kernel can be killed by nobody, and
// must not hold up who called it.
package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tare/internal/bench"
)

// The deadlines of programs.
const (
	Deadline = 20 * time.Second // has little to do
	Slow     = 10 * time.Minute // writes a file system or an archive
)

// letGo is how long a killed program may take to be gone, and one that has ended
// may leave its output open in a child's hands.
const letGo = time.Second

// ErrLate says that a program, or a removal, was not done within its deadline.
var ErrLate = errors.New("not done in time")

// Late is the cause of giving something up after the limit; it wraps [ErrLate].
func Late(limit time.Duration) error { return fmt.Errorf("%w (%v)", ErrLate, limit) }

// Call calls f, which heeds ctx, and returns what f does. Once ctx is done f has
// so much grace; then it is given up, goes on by itself, and the error has the
// cause of ctx and wraps [ErrLate]: a system call that hangs in the kernel heeds
// nothing. Until it returns this process cannot end.
func Call(ctx context.Context, grace time.Duration, f func(context.Context) error) error {
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select { // what looks at the context says more
	case err := <-done:
		return err
	case <-time.After(grace):
	}
	err := context.Cause(ctx)
	if !errors.Is(err, ErrLate) {
		err = fmt.Errorf("%w: %w", err, ErrLate)
	}
	return fmt.Errorf("%w: it hangs in the kernel%w", err,
		bench.Hint(fmt.Sprintf("see what it waits for: cat /proc/%d/task/*/stack", os.Getpid())))
}

// Run runs the command to its end, in a process group of its own. At the limit,
// or with ctx, the group is killed; a process that does not end even so is left
// to the kernel and the error says it. What the program complains of, or else
// prints, is part of the error.
func Run(ctx context.Context, limit time.Duration, cmd *exec.Cmd) error {
	_, err := Output(ctx, limit, cmd)
	return err
}

// Output is [Run] and returns what the program printed, unless that goes elsewhere already.
func Output(ctx context.Context, limit time.Duration, cmd *exec.Cmd) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, Late(limit))
	defer cancel()
	var out, said bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &out
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &said
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	cmd.WaitDelay = letGo
	name := filepath.Base(cmd.Path)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, context.Cause(ctx))
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err == nil || errors.Is(err, exec.ErrWaitDelay) { // a child of its keeps the output
			return out.Bytes(), nil
		}
		if said.Len() == 0 {
			said = out
		}
		return nil, fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(said.Bytes()))
	case <-ctx.Done():
	}
	err := fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), context.Cause(ctx))
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	select {
	case <-ended:
		return nil, err
	case <-time.After(2 * letGo):
		return nil, fmt.Errorf("%w; process %d hangs in the kernel and is left to it%w", err, cmd.Process.Pid,
			bench.Hint(fmt.Sprintf("see what it waits for: cat /proc/%d/stack", cmd.Process.Pid)))
	}
}
