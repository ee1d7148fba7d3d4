package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Output runs a program, found as [Program] does, and returns what it prints; what it complains about is
// part of the error.
func Output(ctx context.Context, name string, args ...string) ([]byte, error) {
	path, err := Program(name)
	if err != nil {
		return nil, err
	}
	out, err := command(ctx, path, args...).Output()
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), context.Cause(ctx))
	}
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return nil, fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(failed.Stderr))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}

// letGo is how long a program that was killed may keep its output open.
const letGo = time.Second

// command ends with ctx, with whatever the program has started.
func command(ctx context.Context, path string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = letGo
	return cmd
}
