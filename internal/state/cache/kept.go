// Package cache accounts for what the state directory keeps from one run to the
// next beside the images, so that the next run need not make it again.
package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host/tree"
	"tare/internal/image"
)

// A Thing is a file or directory that may be removed: the next run that needs
// it makes it anew.
type Thing struct {
	Name string      `json:"name"` // below the state directory
	What string      `json:"what"`
	Size bench.Bytes `json:"size"` // on disk; too small where not all may be read
	lock string      // the file that whoever uses it locks; empty for none
}

// List returns what is there of what the platforms keep and of [Begin]'s. One with a
// lock is only taken for ours where the lock is beside it: a state directory may be any.
func List(state string, platforms []bench.Platform) ([]Thing, error) {
	var known []bench.Kept
	for _, p := range platforms {
		for _, k := range p.Traits().Kept {
			if !slices.Contains(known, k) {
				known = append(known, k)
			}
		}
	}
	known = append(known, bench.Kept{Pattern: begunDir, Lock: begunLock, What: "which runs began here; without it they cannot be resumed"})
	var things []Thing
	for _, k := range known {
		if k.Lock != "" {
			if _, err := os.Stat(filepath.Join(state, k.Lock)); errors.Is(err, os.ErrNotExist) {
				continue
			}
		}
		paths, err := filepath.Glob(filepath.Join(state, k.Pattern))
		if err != nil {
			return nil, fmt.Errorf("list what is kept: %w", err)
		}
		slices.Sort(paths)
		for _, path := range paths {
			size, err := image.DiskUsage(path)
			if err != nil && !errors.Is(err, fs.ErrPermission) {
				return nil, fmt.Errorf("list what is kept: %w", err)
			}
			name, err := filepath.Rel(state, path)
			if err != nil {
				return nil, fmt.Errorf("list what is kept: %w", err)
			}
			things = append(things, Thing{name, k.What, size, k.Lock})
		}
	}
	return things, nil
}

// Remove removes a thing that List returned. One in use, or in which something
// is mounted, is an error and stays. The caller sees to it that no run begins.
func Remove(state string, t Thing) error {
	if t.lock != "" {
		f, err := os.OpenFile(filepath.Join(state, t.lock), os.O_RDWR, 0)
		if err != nil {
			return fmt.Errorf("remove %s: %w", t.Name, err)
		}
		defer f.Close()
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			return fmt.Errorf("remove %s: in use: %w%w", t.Name, err, bench.Hint("wait for the run to end"))
		}
	}
	return tree.Remove(filepath.Join(state, t.Name))
}
