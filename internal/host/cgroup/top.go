package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// In v2 the host's top group must enable for its children the controllers that limit our groups. A
// host may not have them enabled. Runtimes even enable all controllers at each level of their
// group's path. A note on the group [bench.CgroupRoot] records which were enabled before. All runs
// share that group, with any state directory, and it outlives killed runs. The run that removes the
// last group in it disables again what was disabled before.
const (
	subtree   = "cgroup.subtree_control"
	topNote   = "trusted.tare.subtree_control" // an extended attribute: the old content of the top's file
	untouched = "untouched"                    // a group with the controllers' default settings
)

// delegates reports whether there are controllers to enable.
func (fs *FS) delegates() bool {
	return slices.ContainsFunc(handedDown, func(c string) bool { return fs.v2[c] })
}

// hold locks out others that make a first group or remove the last one, until release is called.
func (fs *FS) hold() (release func(), err error) {
	if !fs.delegates() {
		return func() {}, nil
	}
	d, err := os.Open(fs.unified.dir)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(settle); ; time.Sleep(2 * time.Millisecond) {
		err = unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { d.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Now().After(deadline) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", fs.unified.dir, err), d.Close())
		}
	}
}

// note records the top's enabled controllers on our group in it, which it makes if needed. It keeps
// an existing note.
func (fs *FS) note() error {
	dir := filepath.Join(fs.unified.dir, bench.CgroupRoot)
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	was, err := os.ReadFile(filepath.Join(fs.unified.dir, subtree))
	if err != nil {
		return err
	}
	if err := unix.Setxattr(dir, topNote, was, unix.XATTR_CREATE); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("note on %s what %s held: %w", dir, subtree, err)
	}
	return nil
}

// putBack disables the controllers at the top that were disabled before our first group, unless
// others use them by now. It then removes our group with its note. It does nothing while a group is
// left in ours.
func (fs *FS) putBack() error {
	release, err := fs.hold()
	if err != nil {
		return err
	}
	defer release()
	dir := filepath.Join(fs.unified.dir, bench.CgroupRoot)
	fresh := filepath.Join(dir, untouched)
	_ = os.Remove(fresh) // left by a process that was killed here
	switch inside, err := groupsIn(dir); {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil || len(inside) > 0:
		return err
	}
	was, err := noted(dir)
	if err != nil {
		return err
	}
	extra, err := enabled(fs.unified.dir)
	if err != nil {
		return err
	}
	extra = slices.DeleteFunc(extra, func(c string) bool { return was == nil || slices.Contains(was, c) })
	if err := fs.withdraw(extra, dir, fresh); err != nil {
		return err
	}
	return os.Remove(dir)
}

// withdraw disables the controllers at the top.
func (fs *FS) withdraw(extra []string, dir, fresh string) error {
	if len(extra) == 0 {
		return nil
	}
	for _, c := range extra {
		if err := write(filepath.Join(dir, subtree), "+"+c); err != nil {
			return err
		}
	}
	if err := os.Mkdir(fresh, 0o755); err != nil {
		return err
	}
	var idle []string
	for _, c := range extra {
		used, err := fs.used(c, fresh)
		if err != nil {
			return errors.Join(err, os.Remove(fresh))
		}
		if !used {
			idle = append(idle, c)
		}
	}
	if err := os.Remove(fresh); err != nil {
		return err
	}
	ours, err := enabled(dir)
	if err != nil {
		return err
	}
	for _, c := range ours {
		if err := write(filepath.Join(dir, subtree), "-"+c); err != nil {
			return err
		}
	}
	for _, c := range idle {
		// Busy: another group enables it for its own children.
		if err := write(filepath.Join(fs.unified.dir, subtree), "-"+c); err != nil && !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("switch the %s controller off again: %w", c, err)
		}
	}
	return nil
}

// used reports whether a group of others just below the top has a non-default setting of the
// controller. Disabling the controller would lose that setting.
func (fs *FS) used(controller, fresh string) (bool, error) {
	others, err := groupsIn(fs.unified.dir)
	if err != nil {
		return false, err
	}
	files, err := filepath.Glob(filepath.Join(fresh, controller+".*"))
	if err != nil {
		return false, err
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			return false, err
		}
		name := filepath.Base(file)
		if info.Mode().Perm()&0o600 != 0o600 || strings.HasSuffix(name, ".pressure") || strings.HasSuffix(name, ".peak") {
			continue // no setting
		}
		made, err := os.ReadFile(file)
		if err != nil {
			return false, err
		}
		for _, other := range others {
			has, err := os.ReadFile(filepath.Join(fs.unified.dir, other, name))
			if other != bench.CgroupRoot && err == nil && string(has) != string(made) {
				return true, nil
			}
		}
	}
	return false, nil
}

// noted returns the content of the group's note, nil if there is none.
func noted(dir string) ([]string, error) {
	text := make([]byte, 4096)
	n, err := unix.Getxattr(dir, topNote, text)
	if errors.Is(err, unix.ENODATA) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the note on %s: %w", dir, err)
	}
	return append([]string{}, strings.Fields(string(text[:n]))...), nil
}

// enabled returns the controllers that the group enables for its children.
func enabled(dir string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(dir, subtree))
	return strings.Fields(string(text)), err
}

// groupsIn returns the names of the groups just below a group.
func groupsIn(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, err
}
