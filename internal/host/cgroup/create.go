package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tare/internal/bench"
)

// Create makes the group name, such as "RUN/LAUNCH", with its ancestors in every hierarchy and
// applies the limits. unenforced lists the limits without a control file on this host. If the
// kernel refuses a limit, Create removes the group and returns an error.
func (fs *FS) Create(name string, l Limits) (g *Group, unenforced []string, err error) {
	if err := checkName(name); err != nil {
		return nil, nil, err
	}
	g = fs.Group(name)
	for deadline := time.Now().Add(settle); ; time.Sleep(time.Millisecond) {
		err = fs.make(name)
		// Another run may have just removed an ancestor that was empty.
		if err == nil || !vanished(err) || time.Now().After(deadline) {
			break
		}
	}
	if err == nil {
		unenforced, err = g.apply(l)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("create cgroup %s: %w", name, err), g.Remove())
	}
	return g, unenforced, nil
}

// make creates the group's directories from the top down. On v1 a cpuset takes no process until its
// CPUs and memory nodes are set, at every depth. On v2 each ancestor must enable the controllers
// for its children.
func (fs *FS) make(name string) error {
	release, err := fs.hold()
	if err != nil {
		return err
	}
	defer release()
	if fs.delegates() {
		if err := fs.note(); err != nil {
			return err
		}
	}
	tops := fs.dirs(".")
	for _, top := range distinct(tops) {
		dir := top
		steps := append([]string{"."}, strings.Split(name, "/")...)
		for _, step := range steps {
			parent := filepath.Dir(dir)
			if step != "." {
				parent, dir = dir, filepath.Join(dir, step)
			}
			if top == tops[Unified] {
				if err := fs.delegate(parent); err != nil {
					return err
				}
			}
			if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
				return err
			}
			if top == tops["cpuset"] {
				if err := inheritCPUSet(parent, dir); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// handedDown lists the v2 controllers that we enable for children.
var handedDown = []string{"cpu", "cpuset", "memory", "pids", "io"}

// delegate makes the v2 controllers we use available to the children of dir.
func (fs *FS) delegate(dir string) error {
	for _, c := range handedDown {
		if !fs.v2[c] {
			continue
		}
		err := write(filepath.Join(dir, subtree), "+"+c)
		if err != nil && c != "io" { // few limits need it
			return fmt.Errorf("enable the %s controller for children: %w%w", c, err, bench.Hint(
				"a cgroup with processes cannot enable controllers for its children; run tare outside a container"))
		}
	}
	return nil
}

// inheritCPUSet gives a v1 cpuset its parent's CPUs and memory nodes where it
// has none yet.
func inheritCPUSet(parent, dir string) error {
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		have, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if strings.TrimSpace(string(have)) != "" {
			continue
		}
		from, err := os.ReadFile(filepath.Join(parent, file))
		if err != nil {
			return err
		}
		if err := write(filepath.Join(dir, file), strings.TrimSpace(string(from))); err != nil {
			return err
		}
	}
	return nil
}

// inV2 returns the controller's name in v2.
func inV2(controller string) string {
	if controller == "blkio" {
		return "io"
	}
	return controller
}

// apply writes the limits and returns those without a control file.
func (g *Group) apply(l Limits) (unenforced []string, err error) {
	for _, k := range l.knobs() {
		dir, settings := g.dirs[k.controller], k.v1
		if dir == "" && g.fs.v2[inV2(k.controller)] {
			dir, settings = g.dirs[Unified], k.v2
		}
		enforced := dir != ""
		for _, s := range settings {
			if !enforced {
				break
			}
			path := filepath.Join(dir, s.file)
			if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
				enforced = false
				break
			}
			if err := write(path, s.value); err != nil {
				return nil, fmt.Errorf("%s: write %q: %w%w", k.what, s.value, err, refusal(k))
			}
		}
		if enforced && k.what == cpuSet {
			if err := checkCPUSet(dir, l.CPUSet); err != nil {
				return nil, err
			}
		}
		if enforced && k.what == bench.MemoryNodes {
			if err := checkNodes(dir, l.Nodes); err != nil {
				return nil, err
			}
		}
		if !enforced && (k.what != swap || g.fs.hasSwap()) {
			unenforced = append(unenforced, k.what)
		}
	}
	if dir := g.dirs["cpuset"]; l.HandDown && dir != "" {
		if err := write(filepath.Join(dir, "cgroup.clone_children"), "1"); err != nil {
			return nil, err
		}
	}
	if l.MemorySoft > 0 && g.fs.v2["memory"] {
		if err := g.claim(); err != nil {
			return nil, err
		}
	}
	return unenforced, nil
}

// DefaultWeight is a group's default weight (cgroup v2's cpu.weight; 1024 of v1's shares).
const DefaultWeight = 100

// Weigh sets the CPU weight of all of Tare's groups together against the rest of the host, 1 to
// 10000. The weights between the groups do not change. It lasts until the last group is gone, or
// the next call. It does nothing on a host without a CPU controller.
func (fs *FS) Weigh(weight int) error {
	if _, err := fs.Group(".").apply(Limits{Weight: weight}); err != nil {
		return fmt.Errorf("weigh cgroup %s: %w", bench.CgroupRoot, err)
	}
	return nil
}

// refusal returns the hint for a limit that the kernel refuses.
func refusal(k knob) bench.Hint {
	switch k.what {
	case cpuSet:
		return onlineCPUs
	case bench.MemoryNodes:
		return nodesWithMemory
	}
	return ""
}

const (
	onlineCPUs      = bench.Hint("name CPUs that exist and are online: see /sys/devices/system/cpu/online")
	nodesWithMemory = bench.Hint("name nodes that have memory: see /sys/devices/system/node/has_memory")
)

// checkCPUSet compares the effective CPUs with those asked for. v2 accepts CPUs that do not exist
// and falls back to the parent's.
func checkCPUSet(dir string, want []int) error {
	have, differ, err := effective(dir, want, "cpuset.cpus.effective", "cpuset.effective_cpus")
	if err != nil || !differ {
		return err
	}
	return fmt.Errorf("cpu set: asked for CPUs %s, got %s: %w%w", CPUList(want), CPUList(have),
		bench.ErrInvalid, onlineCPUs)
}

// checkNodes does so with memory nodes.
func checkNodes(dir, nodes string) error {
	want, err := ParseCPUList(nodes)
	if err != nil {
		return fmt.Errorf("%s: %w: %w", bench.MemoryNodes, err, bench.ErrInvalid)
	}
	have, differ, err := effective(dir, want, "cpuset.mems.effective", "cpuset.effective_mems")
	if err != nil || !differ {
		return err
	}
	return fmt.Errorf("%s: asked for %s, got %s: %w%w", bench.MemoryNodes, nodes, CPUList(have),
		bench.ErrInvalid, nodesWithMemory)
}

// effective is what a group has of a list, by the files of v2 and v1, and whether it is not what was wanted.
func effective(dir string, want []int, files ...string) (have []int, differ bool, err error) {
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, false, err
		}
		if have, err = ParseCPUList(strings.TrimSpace(string(text))); err != nil {
			return nil, false, fmt.Errorf("%s/%s: %w", dir, file, err)
		}
		if !sameCPUs(have, want) {
			return have, true, nil
		}
	}
	return have, false, nil
}

// claim sets memory.low of every ancestor to the sum of its children's, because the parent's value
// bounds a group's protection.
func (g *Group) claim() error {
	for dir := filepath.Dir(g.dirs[Unified]); dir != g.fs.unified.dir; dir = filepath.Dir(dir) {
		files, err := filepath.Glob(filepath.Join(dir, "*", "memory.low"))
		if err != nil {
			return err
		}
		var sum int64
		for _, f := range files {
			text, err := os.ReadFile(f)
			if errors.Is(err, os.ErrNotExist) {
				continue // removed meanwhile
			}
			if err != nil {
				return err
			}
			low, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
			if err != nil {
				return fmt.Errorf("%s: %q: %w", f, strings.TrimSpace(string(text)), err)
			}
			sum += low
		}
		err = write(filepath.Join(dir, "memory.low"), strconv.FormatInt(sum, 10))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// hasSwap reports whether the host has swap space switched on.
func (fs *FS) hasSwap() bool {
	text, err := os.ReadFile(filepath.Join(fs.root, "proc/swaps"))
	return err == nil && strings.Count(strings.TrimSpace(string(text)), "\n") > 0
}

// write writes the value to a control file in a single write, as the kernel requires.
func write(path, value string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}
