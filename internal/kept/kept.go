// Package kept accounts for what the state directory keeps from one run to the
// next beside the images, so that the next run need not make it again.
package kept

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/image"
	"tare/internal/tree"
)

// A Thing is a file or directory that may be removed: the next run that needs
// it makes it anew.
type Thing struct {
	Name string      `json:"name"` // below the state directory
	What string      `json:"what"`
	Size bench.Bytes `json:"size"` // on disk; too small where not all may be read
	lock string      // the file that whoever uses it locks; empty for none
}

// known are all things there can be. One with a lock is only taken for ours
// where the lock is beside it: a state directory may be any.
var known = []struct{ pattern, lock, what string }{
	{"docker", "docker.lock", "Docker's store of the golden image, driver overlay2"},
	{"docker-vfs", "docker-vfs.lock", "Docker's store of the golden image, driver vfs"},
	{"docker-btrfs", "docker-btrfs.lock", "Docker's store of the golden image, driver btrfs"},
	{"docker-btrfs.img", "docker-btrfs.lock", "the file system of Docker's driver btrfs, at most 8 GiB"},
	{"docker-btrfs.img.part", "docker-btrfs.lock", "the beginning of that file system"},
	{"libvirt/cache", "libvirt.lock", "libvirt's notes of what QEMU can do"},
	{"kvm*.json", "", "whether KVM boots a guest here"},
	{"tried-*.json", "", "whether a platform starts here"},
	{begunDir, begunLock, "which runs began here; without it they cannot be resumed"},
}

// List returns what is there.
func List(state string) ([]Thing, error) {
	var things []Thing
	for _, k := range known {
		if k.lock != "" {
			if _, err := os.Stat(filepath.Join(state, k.lock)); errors.Is(err, os.ErrNotExist) {
				continue
			}
		}
		paths, err := filepath.Glob(filepath.Join(state, k.pattern))
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
			things = append(things, Thing{name, k.what, size, k.lock})
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
