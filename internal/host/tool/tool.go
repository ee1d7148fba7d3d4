// Package tool runs short programs of the host, each with a deadline. A program that hangs in the
// kernel cannot be killed and must not block its caller.
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

// letGo is how long a killed program may take to exit, and how long a child may keep an exited
// program's output open.
const letGo = time.Second

// ErrLate says that a program or a removal missed its deadline.
var ErrLate = errors.New("not done in time")

// Late returns the error for an operation given up after the limit. It wraps [ErrLate].
func Late(limit time.Duration) error { return fmt.Errorf("%w (%v)", ErrLate, limit) }

// Call calls f with ctx and returns f's error. Once ctx is done, f has the time grace to return.
// Then Call gives f up, because a system call may hang in the kernel. The error has the cause of
// ctx and wraps [ErrLate]. f keeps running, and this process cannot end until f returns.
func Call(ctx context.Context, grace time.Duration, f func(context.Context) error) error {
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select { // an f that checks the context returns a better error
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

// Run runs the command in its own process group and waits for it. At the limit, or when ctx is
// done, it kills the group. A process that does not end even then is left running, and the error
// says so. The error includes the program's standard error, or else its standard output.
func Run(ctx context.Context, limit time.Duration, cmd *exec.Cmd) error {
	_, err := Output(ctx, limit, cmd)
	return err
}

// Output is [Run] and returns the program's standard output, unless it is redirected.
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
		if err == nil || errors.Is(err, exec.ErrWaitDelay) { // its child keeps the output open
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
