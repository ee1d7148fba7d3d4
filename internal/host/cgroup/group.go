package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// Group is a control group made by Create: one directory per hierarchy.
type Group struct {
	fs   *FS
	name string
	dirs map[string]string
}

// Group returns the group of that name, relative to [bench.CgroupRoot]. It need not exist.
func (fs *FS) Group(name string) *Group {
	return &Group{fs: fs, name: name, dirs: fs.dirs(name)}
}

// Name returns the name relative to [bench.CgroupRoot].
func (g *Group) Name() string { return g.name }

// Dirs returns the group's directories by controller, the v2 hierarchy's under
// [Unified].
func (g *Group) Dirs() map[string]string { return maps.Clone(g.dirs) }

// ProcsFiles returns the files into which a process writes "0" to move itself into the group.
func (g *Group) ProcsFiles() []string {
	files := distinct(g.dirs)
	for i := range files {
		files[i] = filepath.Join(files[i], "cgroup.procs")
	}
	return files
}

// Has reports whether the host has the controller's control file, under its name
// in v1 or v2.
func (g *Group) Has(controller, v1, v2 string) bool {
	dir, file := g.dirs[controller], v1
	if dir == "" {
		dir, file = g.dirs[Unified], v2
	}
	_, err := os.Stat(filepath.Join(dir, file))
	return err == nil
}

// Add moves the process into the group, in every hierarchy.
func (g *Group) Add(pid int) error {
	for _, f := range g.ProcsFiles() {
		if err := write(f, strconv.Itoa(pid)); err != nil {
			return fmt.Errorf("add process %d to cgroup %s: %w", pid, g.name, err)
		}
	}
	return nil
}

// Procs lists the processes in the group and below it.
func (g *Group) Procs() ([]int, error) {
	var pids []int
	for _, dir := range distinct(g.dirs) {
		in, err := Procs(dir)
		if err != nil {
			return nil, fmt.Errorf("processes of cgroup %s: %w", g.name, err)
		}
		pids = append(pids, in...)
	}
	slices.Sort(pids)
	return slices.Compact(pids), nil
}

// Procs lists the processes in the control group at the directory, anybody's, and below it; none if it is gone.
func Procs(dir string) ([]int, error) {
	var pids []int
	err := walk(dir, func(d string) error {
		text, err := os.ReadFile(filepath.Join(d, "cgroup.procs"))
		if err != nil {
			return err
		}
		for _, word := range strings.Fields(string(text)) {
			pid, err := strconv.Atoi(word)
			if err != nil {
				return fmt.Errorf("%s/cgroup.procs: bad process id %q", d, word)
			}
			pids = append(pids, pid)
		}
		return nil
	})
	return pids, err
}

// Confine keeps the control group in the directory, anybody's, and those below it on the CPUs, from the
// bottom up: on v1 a group's CPUs must hold those of its children. They must exist, and those of its parents hold them.
func Confine(dir string, cpus []int) error {
	var dirs []string
	if err := walk(dir, func(d string) error { dirs = append(dirs, d); return nil }); err != nil {
		return err
	}
	for _, d := range slices.Backward(dirs) {
		if err := write(filepath.Join(d, "cpuset.cpus"), CPUList(cpus)); err != nil {
			return err
		}
	}
	return checkCPUSet(dir, cpus)
}

// Holds reports whether the process is in the group or below it, in any hierarchy.
func (g *Group) Holds(pid int) (bool, error) {
	in, err := g.fs.Of(pid)
	if err != nil {
		return false, err
	}
	for c, dir := range g.dirs {
		if in[c] == dir || strings.HasPrefix(in[c], dir+"/") {
			return true, nil
		}
	}
	return false, nil
}

// Kill kills every process in the group and below it and returns when none is left. It prevents
// forks first, so that a fork bomb cannot outrun it.
func (g *Group) Kill(ctx context.Context) error {
	wait := time.Millisecond
	for first := true; ; first = false {
		pids, err := g.Procs()
		if err != nil {
			return err
		}
		if len(pids) == 0 {
			return nil
		}
		if slices.Contains(pids, os.Getpid()) {
			return fmt.Errorf("kill cgroup %s: this process is in it", g.name)
		}
		if first {
			g.stopForks()
		}
		for _, pid := range pids {
			if err := g.kill(pid); err != nil {
				return fmt.Errorf("kill cgroup %s: %w", g.name, err)
			}
		}
		g.thaw()
		select {
		case <-ctx.Done():
			return fmt.Errorf("kill cgroup %s: processes %v are left: %w%w", g.name, pids, context.Cause(ctx),
				bench.Hint("see what they wait for: cat /proc/PID/stack; once they can end, tare clean removes what is left"))
		case <-time.After(wait):
			wait = min(2*wait, 50*time.Millisecond)
		}
	}
}

// stopForks prevents new processes and, if the kernel can, kills all at once. The kernel may lack
// either. The caller's loop does not depend on them.
func (g *Group) stopForks() {
	for _, c := range []string{"pids", Unified} {
		if dir := g.dirs[c]; dir != "" {
			_ = write(filepath.Join(dir, "pids.max"), "0")
		}
	}
	if dir := g.dirs[Unified]; dir != "" {
		_ = write(filepath.Join(dir, "cgroup.kill"), "1")
	}
}

// thaw thaws processes frozen by v1, for example by an interrupted checkpoint, so that they can
// die. Processes frozen by v2 can die while frozen (the kernel's cgroup-v2.rst, cgroup.freeze).
func (g *Group) thaw() {
	if dir := g.dirs["freezer"]; dir != "" {
		_ = walk(dir, func(d string) error {
			_ = write(filepath.Join(d, "freezer.state"), "THAWED")
			return nil
		})
	}
}

// kill kills one process if it is still in the group. Its id may have been reused meanwhile.
func (g *Group) kill(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("process %d: %w", pid, err)
	}
	defer unix.Close(fd)
	in, err := g.fs.Of(pid)
	if err != nil {
		return nil // it is gone
	}
	for c, dir := range g.dirs {
		if rel, err := filepath.Rel(dir, in[c]); err == nil && filepath.IsLocal(rel) {
			err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
			if err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("process %d: %w", pid, err)
			}
			return nil
		}
	}
	return nil
}

// settle is how long the kernel may take to release a group after its last process was reaped.
const settle = 5 * time.Second

// Remove deletes the group, those below it and ancestors that become empty. It does so in every
// hierarchy, also where only a container runtime has made the group. It fails if processes are left
// inside. It returns nil if the group is already gone.
func (g *Group) Remove() error {
	if pids, err := g.Procs(); err != nil || len(pids) > 0 {
		return errors.Join(err, fmt.Errorf("remove cgroup %s: processes %v are inside", g.name, pids))
	}
	var errs []error
	for _, dir := range g.fs.everywhere(g.name) {
		if err := removeTree(dir); err != nil {
			errs = append(errs, err)
			continue
		}
	}
	errs = append(errs, g.prune())
	if g.fs.v2["memory"] {
		errs = append(errs, g.claim())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove cgroup %s: %w", g.name, err)
	}
	return nil
}

// End kills all processes in the group and removes it.
func (g *Group) End(ctx context.Context) error {
	return errors.Join(g.Kill(ctx), g.Remove())
}

// prune removes ancestors that are empty and keeps those in use. With the last one it restores the
// top group's settings.
func (g *Group) prune() error {
	top := filepath.Join(g.fs.unified.dir, bench.CgroupRoot)
	for up := g.name; up != "."; {
		up = filepath.Dir(up)
		for _, dir := range g.fs.everywhere(up) {
			if dir != top || !g.fs.delegates() {
				_ = os.Remove(dir)
			}
		}
	}
	if g.fs.delegates() {
		return g.fs.putBack()
	}
	return nil
}

// Remove kills everything in the group of that name (relative to
// [bench.CgroupRoot]) and removes it from every hierarchy of this host.
func Remove(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	host, err := Detect()
	if errors.Is(err, bench.ErrUnavailable) {
		return nil // without cgroups there are no groups
	}
	if err != nil {
		return err
	}
	g := host.Group(name)
	if err := g.Kill(ctx); err != nil {
		return err
	}
	return g.Remove()
}

// removeTree removes a cgroup and its descendants, deepest first.
func removeTree(dir string) error {
	var dirs []string
	if err := walk(dir, func(d string) error { dirs = append(dirs, d); return nil }); err != nil {
		return err
	}
	slices.Reverse(dirs)
	deadline := time.Now().Add(settle)
	for _, d := range dirs {
		for {
			err := os.Remove(d)
			if err == nil || errors.Is(err, os.ErrNotExist) {
				break
			}
			if !errors.Is(err, unix.EBUSY) || time.Now().After(deadline) {
				return err
			}
			time.Sleep(2 * time.Millisecond)
		}
	}
	return nil
}

// walk visits dir and the directories below it, parents first. It skips directories that vanish
// meanwhile.
func walk(dir string, visit func(dir string) error) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = visit(path)
		}
		if vanished(err) {
			return nil
		}
		return err
	})
}

// vanished reports whether err says that a group is gone: a lookup then fails with ENOENT, a file
// open or found before with ENODEV.
func vanished(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENODEV)
}
