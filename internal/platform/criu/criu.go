// Package criu is what drivers share whose containers CRIU checkpoints and
// restores: whether it can on this host, and what it leaves behind (statistics,
// image files, reasons of a refusal). The drivers' own programs call it.
package criu

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
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
func Check(ctx context.Context) (h Host, err error) {
	h.Version, err = launch.Version(ctx, program)
	if err == nil {
		err = newEnough(h.Version)
	}
	if err != nil {
		return Host{}, fmt.Errorf("%w: %w%w", err, bench.ErrUnavailable, hint)
	}
	// CRIU takes a note of the kernel below /run, which nobody else shall see: who checks registers nothing.
	err = launch.Apart("/proc/self/ns/net", func() error {
		if err := launch.Hide("/run"); err != nil {
			return err
		}
		if _, err := launch.Output(ctx, program, "check"); err != nil {
			return fmt.Errorf("the kernel lacks what CRIU needs: %w: %w%w", err, bench.ErrUnavailable,
				bench.Hint("criu check says what; a kernel with CONFIG_CHECKPOINT_RESTORE has it"))
		}
		_, err := launch.Output(ctx, program, "check", "--feature", "mem_dirty_track")
		h.Tracks = err == nil
		return nil
	})
	return h, err
}

// Tidily calls f, in which CRIU runs, and removes the note that CRIU takes of
// the kernel, unless it was there before. The ledger is told of it.
func Tidily(l bench.Ledger, f func() error) error {
	if _, err := os.Lstat(bench.CRIUNote); err == nil {
		return f()
	}
	if err := l.Register(bench.KindNote, bench.CRIUNote); err != nil {
		return err
	}
	err := f()
	gone := os.Remove(bench.CRIUNote)
	if errors.Is(gone, fs.ErrNotExist) {
		gone = nil
	}
	if gone == nil {
		gone = l.Release(bench.KindNote, bench.CRIUNote)
	}
	return errors.Join(err, gone)
}

func newEnough(version string) error {
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err != nil || n < leastMajor {
		return fmt.Errorf("criu %s is too old: %d.0 is needed", version, leastMajor)
	}
	return nil
}
