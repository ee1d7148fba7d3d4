package meter

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host/proc"
)

// Count is the use of instances at one moment. Memory is in bytes, by the names of
// [bench.DensityMeters]. The host's values are absolute, not differences.
type Count struct {
	Memory    map[string]float64
	CPU       float64 // cumulative seconds; see Known
	Known     bool    // CPU covers every instance
	Processes int
	Merged    float64 // bytes that samepage merging saves on the host
}

// Census reads the instances' memory and CPU time, on the trees mounted at procDir and sysDir. It
// walks their control groups and reads every process's page tables (smaps_rollup), which takes
// milliseconds for each large process. So it is too expensive for a sampler and meant for instances
// at rest. It leaves out processes that end meanwhile and meters that one instance lacks. If one
// instance is a hypervisor's domain, it leaves out all memory, because this kernel does not know
// the domain's.
func Census(procDir, sysDir string, scopes []bench.Scope) (Count, error) {
	c := Count{Memory: map[string]float64{}, Known: true}
	if err := c.host(procDir, sysDir); err != nil {
		return c, err
	}
	inside, outside := map[int]bool{}, map[int]bool{}
	charged, held, all, domains := 0.0, 0.0, true, false
	for _, s := range scopes {
		mine, err := membersOf(s.Cgroups)
		if err != nil {
			return c, err
		}
		for _, pid := range mine {
			inside[pid] = true
		}
		for _, p := range append(append([]bench.Process{}, s.Helpers...), s.Shared...) {
			outside[p.PID] = true
		}
		m, h, ok := chargedTo(s.Cgroups)
		charged, held, all = charged+m, held+h, all && ok
		domains = domains || s.Domain != 0
		busy, ok := busyOf(s.Cgroups)
		c.CPU, c.Known = c.CPU+busy, c.Known && ok
	}
	if all {
		c.Memory[bench.DensityCgroup], c.Memory[bench.DensityCgroupHeld] = charged, held
	}
	var rss, pss float64
	for pid := range outside {
		if inside[pid] {
			delete(outside, pid)
			continue
		}
		var ts unix.Timespec
		if unix.ClockGettime(processClock(pid), &ts) == nil {
			c.CPU += float64(ts.Nano()) / 1e9
		}
	}
	serving := slices.Concat(slices.Collect(maps.Keys(inside)), slices.Collect(maps.Keys(outside)))
	c.Processes = len(serving)
	for _, pid := range distinct(serving) {
		r, p, err := residentOf(procDir, pid)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue // ended
		}
		if err != nil {
			return c, err
		}
		rss, pss = rss+r, pss+p
	}
	c.Memory[bench.DensityRSS], c.Memory[bench.DensityPSS] = rss, pss
	if domains {
		clear(c.Memory)
	}
	return c, nil
}

func (c *Count) host(procDir, sysDir string) error {
	b, err := os.ReadFile(filepath.Join(procDir, "meminfo"))
	if err != nil {
		return fmt.Errorf("count the instances: %w", err)
	}
	m, err := proc.ParseMeminfo(b)
	if err != nil {
		return fmt.Errorf("count the instances: %w", err)
	}
	c.Memory[bench.DensityAvailable] = m.Used()
	c.Memory[bench.DensityUsed] = m.Total - m.Free - m.Cache()
	if b, err := os.ReadFile(filepath.Join(sysDir, "kernel/mm/ksm/pages_sharing")); err == nil {
		if n, ok := proc.Single(b); ok {
			c.Merged = n * float64(os.Getpagesize())
		}
	}
	return nil
}

// membersOf lists the processes in the groups and those below them.
func membersOf(groups map[string]string) ([]int, error) {
	dir := ""
	for _, name := range []string{"memory", "unified", "cpuacct", "pids"} {
		if dir = groups[name]; dir != "" {
			break
		}
	}
	if dir == "" {
		return nil, nil
	}
	var pids []int
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a group that has ended
		}
		if err != nil {
			return err
		}
		if !d.IsDir() {
			return nil
		}
		b, err := os.ReadFile(filepath.Join(path, "cgroup.procs"))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EOPNOTSUPP) {
			return nil
		}
		if err != nil {
			return err
		}
		for line := range bytes.Lines(b) {
			pid, err := strconv.Atoi(string(bytes.TrimSpace(line)))
			if err != nil {
				return fmt.Errorf("cgroup.procs: %q is not a process", line)
			}
			pids = append(pids, pid)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("count the instances: %w", err)
	}
	return pids, nil
}

// chargedTo returns the memory charged to the groups, and the same without the file cache.
func chargedTo(groups map[string]string) (charged, held float64, ok bool) {
	for _, v := range []struct{ dir, usage, cache, shmem string }{
		{groups["memory"], "memory.usage_in_bytes", "total_cache", "total_shmem"},
		{groups["unified"], "memory.current", "file", "shmem"},
	} {
		if v.dir == "" {
			continue
		}
		usage, err := os.ReadFile(filepath.Join(v.dir, v.usage))
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join(v.dir, "memory.stat"))
		if err != nil {
			continue
		}
		n, known := proc.Single(usage)
		cache, cached := proc.Keyed(stat, v.cache)
		shmem, shared := proc.Keyed(stat, v.shmem)
		if known && cached && shared {
			return n, max(0, n-cache+shmem), true
		}
	}
	return 0, 0, false
}

// busyOf returns the CPU time of the groups in seconds.
func busyOf(groups map[string]string) (float64, bool) {
	v := []float64{0}
	for _, f := range []struct {
		group, name string
		parse       func([]byte, []float64) error
	}{{"cpuacct", "cpuacct.usage", parseQuietV1}, {"unified", "cpu.stat", parseQuietV2}} {
		if groups[f.group] == "" {
			continue
		}
		if b, err := os.ReadFile(filepath.Join(groups[f.group], f.name)); err == nil && f.parse(b, v) == nil {
			return v[0], true
		}
	}
	return 0, false
}

// residentOf returns a process's Rss and Pss in bytes (Documentation/filesystems/proc.rst,
// smaps_rollup). A process without an address space, such as a zombie, has none.
func residentOf(procDir string, pid int) (rss, pss float64, err error) {
	b, err := os.ReadFile(filepath.Join(procDir, strconv.Itoa(pid), "smaps_rollup"))
	if err != nil {
		return 0, 0, err
	}
	return parseRollup(b)
}

func parseRollup(b []byte) (rss, pss float64, err error) {
	if len(b) == 0 {
		return 0, 0, nil
	}
	r, ok := proc.Keyed(b, "Rss:")
	p, also := proc.Keyed(b, "Pss:")
	if !ok || !also {
		return 0, 0, fmt.Errorf("smaps_rollup: no number under Rss: and Pss: in %q", b)
	}
	return r * 1024, p * 1024, nil
}
