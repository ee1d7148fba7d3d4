package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tare/internal/bench"
)

// copies is why a storage driver is of no use in an outer guest.
func copies(driver string) bench.Lack {
	return bench.Lack{With: map[string]string{"driver": driver}, Err: fmt.Errorf("docker's storage driver %s in an outer guest: %w%w", driver,
		bench.ErrUnavailable, bench.Hint("it would copy the image there first: nested, only overlay2 is known"))}
}

// published is why a nested container has no published port: it is called at its outer machine's address,
// whose network passes on to it.
var published = bench.Lack{With: map[string]string{bench.PublishOption: "yes"}, Err: fmt.Errorf("docker's published ports in an outer guest: %w%w",
	bench.ErrUnavailable, bench.Hint("leave out "+bench.PublishOption+": nested, containers are called through the outer machine"))}

// seat mounts the golden image over the one layer of the image in the store, which
// is empty in an outer guest: there containers find it as their lower layer.
func (p *Platform) seat(ctx context.Context, run bench.Runner, e bench.Env, golden string) error {
	daemon := runPaths(p.state, e.Run, drivers[0])
	layers, err := filepath.Glob(filepath.Join(daemon.data, daemon.driver, "*/diff"))
	if err != nil || len(layers) != 1 {
		return fmt.Errorf("docker's image: %d layers in its store, not one: %w", len(layers), errors.Join(err, bench.ErrUnavailable))
	}
	pid, err := os.ReadFile(daemon.pid())
	if err != nil {
		return fmt.Errorf("docker's daemon: %w", err)
	}
	// In the daemon's own mount namespace, which keeps its store private.
	return run(ctx, "nsenter", "--target", strings.TrimSpace(string(pid)), "--mount", "mount", "--bind", golden, layers[0])
}
