package launch

import (
	"context"
	"os/exec"

	"tare/internal/host/tool"
)

// Output runs a program, found as [Program] does, and returns what it prints; what it complains about is
// part of the error. It ends with ctx, with whatever it has started.
func Output(ctx context.Context, name string, args ...string) ([]byte, error) {
	path, err := Program(name)
	if err != nil {
		return nil, err
	}
	return tool.Output(ctx, tool.Slow, exec.Command(path, args...))
}
