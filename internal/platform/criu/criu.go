// Package criu is what drivers share whose containers CRIU checkpoints and
// restores: whether it can on this host, and what it leaves behind (statistics,
// image files, reasons of a refusal). The drivers' own programs call it.
package criu

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"tare/internal/bench"
	"tare/internal/platform/launch"
)

const program = "criu"

// leastMajor is the oldest version that is driven: Debian 12's 3.17 fails on newer kernels.
const leastMajor = 4

const hint = bench.Hint("install CRIU 4 or later, such as Debian 13's: apt-get install criu (./test unpacks it on Debian 12)")

// Host is what CRIU can do here.
type Host struct {
	Version string
	// Tracks: the kernel tells which pages were written since they were copied
	// (CONFIG_MEM_SOFT_DIRTY), so most can be copied while the container runs.
	Tracks bool
}

// Check asks CRIU for its version and what it finds of the kernel. Its error
// wraps [bench.ErrUnavailable] with the reason and a hint.
func Check(ctx context.Context) (Host, error) {
	version, err := launch.Version(ctx, program)
	if err == nil {
		err = newEnough(version)
	}
	if err != nil {
		return Host{}, fmt.Errorf("%w: %w%w", err, bench.ErrUnavailable, hint)
	}
	if _, err := launch.Output(ctx, program, "check"); err != nil {
		return Host{}, fmt.Errorf("the kernel lacks what CRIU needs: %w: %w%w", err, bench.ErrUnavailable,
			bench.Hint("criu check says what; a kernel with CONFIG_CHECKPOINT_RESTORE has it"))
	}
	_, err = launch.Output(ctx, program, "check", "--feature", "mem_dirty_track")
	return Host{Version: version, Tracks: err == nil}, nil
}

func newEnough(version string) error {
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err != nil || n < leastMajor {
		return fmt.Errorf("criu %s is too old: %d.0 is needed", version, leastMajor)
	}
	return nil
}
