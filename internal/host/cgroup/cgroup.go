// Package cgroup makes, limits and removes control groups on hosts with cgroup v1, v2 or both
// ("hybrid"). Every group is under [bench.CgroupRoot] at the top of each hierarchy.
//
// Sources: the kernel's Documentation/admin-guide/cgroup-v1/ and
// Documentation/admin-guide/cgroup-v2.rst.
package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// Unified is the key of the v2 hierarchy in maps of directories by controller.
const Unified = "unified"

// controllers lists those that Tare sets limits in or reads from.
var controllers = []string{"cpu", "cpuacct", "cpuset", "memory", "blkio", "pids", "freezer"}

// FS describes the cgroup file systems mounted on a host.
type FS struct {
	root    string               // root of the host's files, "/" except in tests
	v1      map[string]hierarchy // by controller
	others  []hierarchy          // v1 hierarchies without our controllers; runtimes make groups there too
	unified hierarchy            // dir is empty when v2 is not mounted
	v2      map[string]bool      // controllers the v2 hierarchy offers
}

// hierarchy is one mounted cgroup file system.
type hierarchy struct {
	dir  string // where it is mounted
	base string // the cgroup that appears at dir, "/" except in a container
}

// Detect reads the layout of this host.
func Detect() (*FS, error) { return DetectAt("/") }

// DetectAt reads the layout of the host whose files are under root. The error wraps
// [bench.ErrUnavailable] if no cgroup file system is mounted.
func DetectAt(root string) (*FS, error) {
	path := filepath.Join(root, "proc/self/mountinfo")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("detect cgroups: %w", err)
	}
	fs := &FS{root: root, v1: map[string]hierarchy{}, v2: map[string]bool{}}
	if err := fs.mounts(string(text)); err != nil {
		return nil, fmt.Errorf("detect cgroups: %s: %w", path, err)
	}
	if fs.unified.dir != "" {
		offered, err := os.ReadFile(filepath.Join(fs.unified.dir, "cgroup.controllers"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("detect cgroups: %w", err)
		}
		for _, c := range strings.Fields(string(offered)) {
			fs.v2[c] = true
		}
	}
	if len(fs.v1) == 0 && fs.unified.dir == "" {
		return nil, fmt.Errorf("detect cgroups: none mounted: %w%w", bench.ErrUnavailable,
			bench.Hint("mount cgroup2: mount -t cgroup2 none /sys/fs/cgroup"))
	}
	return fs, nil
}

// Mode returns "v1", "v2" or "hybrid": v1 controllers beside a v2 hierarchy.
func (fs *FS) Mode() string {
	switch {
	case len(fs.v1) == 0:
		return "v2"
	case fs.unified.dir == "":
		return "v1"
	default:
		return "hybrid"
	}
}

// Tops returns where hierarchies are mounted.
func (fs *FS) Tops() []string {
	tops := map[string]string{}
	for c, h := range fs.v1 {
		tops[c] = h.dir
	}
	if fs.unified.dir != "" {
		tops[Unified] = fs.unified.dir
	}
	return distinct(tops)
}

// Writable returns an error that wraps [bench.ErrUnavailable] if groups cannot be made.
func (fs *FS) Writable() error {
	for _, dir := range fs.Tops() {
		if err := unix.Access(dir, unix.W_OK); err != nil {
			return fmt.Errorf("make cgroups in %s: %w: %w%w", dir, bench.ErrUnavailable, err,
				bench.Hint("run tare as root, and in a container only with its cgroups writable"))
		}
	}
	return nil
}

// Of returns the directories that account for the process, by controller. That of the v2 hierarchy
// is under [Unified].
func (fs *FS) Of(pid int) (map[string]string, error) {
	path := filepath.Join(fs.root, "proc", fmt.Sprint(pid), "cgroup")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cgroups of process %d: %w", pid, err)
	}
	dirs, err := fs.membership(string(text))
	if err != nil {
		return nil, fmt.Errorf("cgroups of process %d: %s: %w", pid, path, err)
	}
	return dirs, nil
}

// dirs returns the directories of the cgroup name, relative to
// [bench.CgroupRoot], by controller, whether they exist or not.
func (fs *FS) dirs(name string) map[string]string {
	dirs := map[string]string{}
	for c, h := range fs.v1 {
		dirs[c] = filepath.Join(h.dir, bench.CgroupRoot, name)
	}
	if fs.unified.dir != "" {
		dirs[Unified] = filepath.Join(fs.unified.dir, bench.CgroupRoot, name)
	}
	return dirs
}

// everywhere returns the directories of the cgroup name in every hierarchy. It includes hierarchies
// where only a container runtime makes groups. It also includes directories below the groups of
// process 1 that are not the top group, because LXC makes its groups there.
func (fs *FS) everywhere(name string) []string {
	list := distinct(fs.dirs(name))
	first, _ := fs.Of(1) // unknown: as on most hosts
	for _, dir := range distinct(first) {
		if below := filepath.Join(dir, bench.CgroupRoot, name); !slices.Contains(list, below) {
			list = append(list, below)
		}
	}
	for _, h := range fs.others {
		list = append(list, filepath.Join(h.dir, bench.CgroupRoot, name))
	}
	return list
}

// distinct returns the directories without repeats (v1 controllers may be
// mounted together), in alphabetical order.
func distinct(dirs map[string]string) []string {
	seen := map[string]bool{}
	var list []string
	for _, d := range dirs {
		if !seen[d] {
			seen[d] = true
			list = append(list, d)
		}
	}
	sort.Strings(list)
	return list
}

// checkName refuses a name that would leave [bench.CgroupRoot].
func checkName(name string) error {
	if !filepath.IsLocal(name) || filepath.Clean(name) != name || name == "." {
		return fmt.Errorf("cgroup name %q: not a relative path such as RUN/LAUNCH", name)
	}
	return nil
}
