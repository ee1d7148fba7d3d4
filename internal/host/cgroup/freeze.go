package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tare/internal/bench"
)

// Freeze stops every process in the group and below it and returns once none runs. What is in an
// uninterruptible sleep of the kernel stops later, and Freeze waits for it until ctx ends. The error
// wraps [bench.ErrUnavailable] if the kernel has no freezer.
func (g *Group) Freeze(ctx context.Context) error {
	f, err := g.freezer()
	if err != nil {
		return err
	}
	const most = 5 * time.Millisecond
	for wait := 50 * time.Microsecond; ; wait = min(2*wait, most) {
		// A process that is born meanwhile may escape v1, so it is written each time.
		if err := write(f.file, f.freeze); err != nil {
			return fmt.Errorf("freeze cgroup %s: %w", g.name, err)
		}
		frozen, err := f.frozen()
		if err != nil {
			return fmt.Errorf("freeze cgroup %s: %w", g.name, err)
		}
		if frozen {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("freeze cgroup %s: some of it still runs: %w", g.name, context.Cause(ctx))
		}
		time.Sleep(wait)
	}
}

// Thaw lets the processes go on that Freeze stopped.
func (g *Group) Thaw() error {
	f, err := g.freezer()
	if err != nil {
		return err
	}
	if err := write(f.file, f.thaw); err != nil {
		return fmt.Errorf("thaw cgroup %s: %w", g.name, err)
	}
	return nil
}

// Thaw thaws the group of that name, relative to [bench.CgroupRoot], as [Group.Thaw] does. A group
// or a freezer that is not there is no error.
func Thaw(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	host, err := Detect()
	if err == nil {
		err = host.Group(name).Thaw()
	}
	if errors.Is(err, bench.ErrUnavailable) || errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// freezer is the kernel's interface to freeze a group.
type freezer struct {
	file, freeze, thaw string // the file, and what is written into it
	state, is          string // the file that tells the state, and its line once all are frozen
}

func (g *Group) freezer() (freezer, error) {
	if dir := g.dirs["freezer"]; dir != "" {
		file := filepath.Join(dir, "freezer.state")
		return freezer{file, "FROZEN", "THAWED", file, "FROZEN"}, nil
	}
	if dir := g.dirs[Unified]; dir != "" {
		return freezer{filepath.Join(dir, "cgroup.freeze"), "1", "0", filepath.Join(dir, "cgroup.events"), "frozen 1"}, nil
	}
	return freezer{}, fmt.Errorf("this host has no freezer: %w%w", bench.ErrUnavailable,
		bench.Hint("Linux 5.2 or later has one in cgroup v2; else mount v1's: mount -t cgroup -o freezer none /sys/fs/cgroup/freezer"))
}

func (f freezer) frozen() (bool, error) {
	text, err := os.ReadFile(f.state)
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(string(text)) {
		if strings.TrimSpace(line) == f.is {
			return true, nil
		}
	}
	return false, nil
}
