package containment

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
)

type memory struct{ total, available bench.Bytes }

// readMemory reads MemTotal and MemAvailable of PROC/meminfo (proc_meminfo(5)).
func readMemory(proc string) (memory, error) {
	text, err := os.ReadFile(filepath.Join(proc, "meminfo"))
	if err != nil {
		return memory{}, err
	}
	return parseMemory(text)
}

func parseMemory(text []byte) (memory, error) {
	total, err := field(text, "MemTotal:")
	if err != nil {
		return memory{}, fmt.Errorf("meminfo: %w", err)
	}
	available, err := field(text, "MemAvailable:")
	if err != nil {
		return memory{}, fmt.Errorf("meminfo: %w", err)
	}
	return memory{bench.Bytes(total) * bench.KiB, bench.Bytes(available) * bench.KiB}, nil
}

// oomKills is how many processes of the whole host were killed for want of
// memory, of itself or of a control group, since it booted.
func oomKills(proc string) (int, error) {
	text, err := os.ReadFile(filepath.Join(proc, "vmstat"))
	if err != nil {
		return 0, err
	}
	n, err := field(text, "oom_kill ")
	if err != nil {
		return 0, fmt.Errorf("vmstat: %w", err)
	}
	return n, nil
}

// field is the number after the line's first word.
func field(text []byte, name string) (int, error) {
	for line := range bytes.Lines(text) {
		rest, ok := bytes.CutPrefix(line, []byte(name))
		if !ok {
			continue
		}
		words := strings.Fields(string(rest))
		if len(words) == 0 {
			return 0, fmt.Errorf("%q has no number", line)
		}
		n, err := strconv.Atoi(words[0])
		if err != nil || n < 0 {
			return 0, fmt.Errorf("%q is not a count", strings.TrimSpace(string(line)))
		}
		return n, nil
	}
	return 0, fmt.Errorf("no line %q", name)
}

// process is one of the host's; its number may be reused, its start is not.
type process struct {
	name  string
	start uint64 // clock ticks since the boot
}

// young is the age, in ticks of 10 ms, below which a process may be one of those that come and go.
const young = 60 * 100

// listProcesses lists those that have been there for a while, but kernel threads.
func listProcesses(proc string) (map[int]process, error) {
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil, err
	}
	uptime, err := readUptime(proc)
	if err != nil {
		return nil, err
	}
	all := map[int]process{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join(proc, e.Name(), "stat"))
		if err != nil {
			continue // it has ended
		}
		p, ok := parseProcess(string(text))
		if ok && p.start+young < uptime {
			all[pid] = p
		}
	}
	return all, nil
}

// parseProcess reads a line of /proc/PID/stat (proc_pid_stat(5)); not ok for
// kernel threads and what has ended already.
func parseProcess(line string) (p process, ok bool) {
	from, to := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
	if from < 0 || to < from {
		return p, false
	}
	const kernelThread = 0x00200000 // PF_KTHREAD of linux/sched.h
	rest := strings.Fields(line[to+1:])
	if len(rest) < 20 || rest[0] == "Z" || rest[0] == "X" {
		return p, false
	}
	flags, err := strconv.ParseUint(rest[6], 10, 64)
	if err != nil || flags&kernelThread != 0 {
		return p, false
	}
	p.name = line[from+1 : to]
	p.start, err = strconv.ParseUint(rest[19], 10, 64)
	return p, err == nil
}

func readUptime(proc string) (ticks uint64, err error) {
	text, err := os.ReadFile(filepath.Join(proc, "uptime"))
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(text), " ")
	seconds, err := strconv.ParseFloat(first, 64)
	if err != nil || seconds < 0 {
		return 0, fmt.Errorf("uptime: %q", text)
	}
	return uint64(seconds * 100), nil
}

// gone are those of before that are not there any more, by number.
func gone(before, after map[int]process) []string {
	var names []string
	for _, pid := range slices.Sorted(maps.Keys(before)) {
		if after[pid] != before[pid] {
			names = append(names, fmt.Sprintf("%s (%d)", before[pid].name, pid))
		}
	}
	return names
}

// inside is what is known of one containment.
type inside struct {
	group *cgroup.Group
	most  map[string]int // OOM kills by directory: the counter of a group that is gone is remembered
}

func newInside(g *cgroup.Group) *inside { return &inside{g, map[string]int{}} }

// look reads the counters and returns the number of tasks.
func (i *inside) look() (pids int) {
	dirs := i.group.Dirs()
	for _, c := range []string{"pids", cgroup.Unified} {
		if n, err := readCount(filepath.Join(dirs[c], "pids.current")); dirs[c] != "" && err == nil {
			pids = max(pids, n)
		}
	}
	// Version 2 counts the groups below; version 1 each by itself.
	if dir := dirs[cgroup.Unified]; dir != "" {
		i.note(filepath.Join(dir, "memory.events"))
	}
	if dir := dirs["memory"]; dir != "" {
		_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				i.note(filepath.Join(path, "memory.oom_control"))
			}
			return nil
		})
	}
	return pids
}

func (i *inside) note(file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		return
	}
	s := bufio.NewScanner(bytes.NewReader(text))
	for s.Scan() {
		if n, ok := strings.CutPrefix(s.Text(), "oom_kill "); ok {
			if n, err := strconv.Atoi(n); err == nil {
				i.most[file] = max(i.most[file], n)
			}
		}
	}
}

func (i *inside) kills() int {
	n := 0
	for _, k := range i.most {
		n += k
	}
	return n
}

func readCount(file string) (int, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}
