package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
)

// Output runs a program, found as [Program] does, and returns what it prints; what it complains about is
// part of the error.
func Output(ctx context.Context, name string, args ...string) ([]byte, error) {
	path, err := Program(name)
	if err != nil {
		return nil, err
	}
	out, err := exec.CommandContext(ctx, path, args...).Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return nil, fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(failed.Stderr))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}
