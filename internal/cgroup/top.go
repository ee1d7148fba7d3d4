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

// Of version 2, the host's top group must hand down to its children the
// controllers that groups of ours are limited by, and a host may not do so by
// itself. Runtimes even switch on all there are, at each level of their group's
// path. What was on before is noted on the group [bench.CgroupRoot], which all
// runs share, whatever their state directories, and which outlives those that
// are killed. Whoever removes the last group in it switches off again what was off.
const (
	subtree   = "cgroup.subtree_control"
	topNote   = "trusted.tare.subtree_control" // an extended attribute: what the top's file held
	untouched = "untouched"                    // a group with the controllers' settings as the kernel makes them
)

// delegates reports whether there is anything to hand down.
func (fs *FS) delegates() bool {
	return slices.ContainsFunc(handedDown, func(c string) bool { return fs.v2[c] })
}

// hold keeps others from making a first group, or taking away a last one, until
// release is called.
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

// note writes down what the top hands down, on our group in it, which is made
// if need be. What is noted already stays.
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

// putBack switches off at the top what was off before the first group of ours,
// unless others use it by now, and removes our group with its note. It does
// nothing while a group is left in it.
func (fs *FS) putBack() error {
	release, err := fs.hold()
	if err != nil {
		return err
	}
	defer release()
	dir := filepath.Join(fs.unified.dir, bench.CgroupRoot)
	fresh := filepath.Join(dir, untouched)
	_ = os.Remove(fresh) // of one who was killed at this
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

// withdraw switches the controllers off at the top.
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
		// Busy: another group hands it further down.
		if err := write(filepath.Join(fs.unified.dir, subtree), "-"+c); err != nil && !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("switch the %s controller off again: %w", c, err)
		}
	}
	return nil
}

// used reports whether a setting of the controller in a group of others, just
// below the top, is not what the kernel makes it: switching it off would lose that.
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

// noted is what the group's note says; nil where there is none.
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

// enabled are the controllers that the group hands down.
func enabled(dir string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(dir, subtree))
	return strings.Fields(string(text)), err
}

// groupsIn are the names of the groups just below a group.
func groupsIn(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, err
}
