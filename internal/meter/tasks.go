package meter

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host/proc"
)

// Tasks reads the CPU time of all tasks of the machine as the scheduler
// accounts for it, which no idle time enters, and that of this process.
//
// On cgroup v1 it is cpuacct.usage of the root group, which counts every task.
// The root of v2 has no such counter (its cpu.stat repeats the ticks of
// /proc/stat), so there it is the sum over the groups below the root and the
// processes in the root itself, kernel threads among them. What a process or
// group used between its last reading and its end is then missed.
type Tasks struct {
	v1     *proc.File
	root   string // of v2
	procs  *proc.File
	groups map[string]*group
	clocks map[int32]*ended
	past   int64 // nanoseconds of groups and processes that are gone
}

type group struct {
	file *proc.File
	ended
}

// ended is the last reading of what may end, and whether it is still there.
type ended struct {
	last  int64 // nanoseconds
	alive bool
}

var taskColumns = []string{bench.ColCPUTasks, bench.ColObserver}

// OpenTasks opens the root control group of the mounts that procDir lists.
func OpenTasks(procDir string) (*Tasks, error) {
	mounts, err := os.ReadFile(filepath.Join(procDir, "self/mounts"))
	if err != nil {
		return nil, fmt.Errorf("open task meter: %w", err)
	}
	v1, v2 := cgroupRoots(mounts)
	if v1 != "" {
		if f, err := proc.Open(filepath.Join(v1, "cpuacct.usage")); err == nil {
			return &Tasks{v1: f}, nil
		}
	}
	if v2 == "" {
		return nil, errors.New("open task meter: no control group hierarchy that accounts for CPU time is mounted")
	}
	f, err := proc.Open(filepath.Join(v2, "cgroup.procs"))
	if err != nil {
		return nil, fmt.Errorf("open task meter: %w", err)
	}
	return &Tasks{root: v2, procs: f, groups: map[string]*group{}, clocks: map[int32]*ended{}}, nil
}

// cgroupRoots finds the mount points of v1's cpuacct controller and of v2; ""
// for one that is not mounted.
func cgroupRoots(mounts []byte) (cpuacct, unified string) {
	for line := range bytes.Lines(mounts) {
		f := strings.Fields(string(line))
		switch {
		case len(f) < 4:
		case f[2] == "cgroup2" && unified == "":
			unified = f[1]
		case f[2] == "cgroup" && cpuacct == "" && strings.Contains(","+f[3]+",", ",cpuacct,"):
			cpuacct = f[1]
		}
	}
	return cpuacct, unified
}

func (t *Tasks) Meter() string      { return "tasks" }
func (t *Tasks) Level() bench.Level { return bench.Host }
func (t *Tasks) Columns() []string  { return taskColumns }

// Read fills values.
func (t *Tasks) Read(v []float64) error {
	missing(v)
	var own unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &own); err != nil {
		return fmt.Errorf("task meter: own CPU time: %w", err)
	}
	v[1] = float64(own.Nano()) / 1e9
	var err error
	if t.v1 == nil {
		v[0], err = t.sum()
		return err
	}
	b, err := t.v1.Read()
	if err != nil {
		return err
	}
	return parseUsageV1(b, v)
}

// sum adds up what a v2 hierarchy accounts for.
func (t *Tasks) sum() (float64, error) {
	if err := errors.Join(t.readGroups(), t.readProcesses()); err != nil {
		return 0, err
	}
	sum := t.past
	for name, g := range t.groups {
		sum += g.last
		if !g.alive {
			t.past += g.last
			g.file.Close()
			delete(t.groups, name)
		}
	}
	for id, c := range t.clocks {
		sum += c.last
		if !c.alive {
			t.past += c.last
			delete(t.clocks, id)
		}
	}
	return float64(sum) / 1e9, nil
}

func (t *Tasks) readGroups() error {
	entries, err := os.ReadDir(t.root)
	if err != nil {
		return fmt.Errorf("task meter: %w", err)
	}
	for _, g := range t.groups {
		g.alive = false
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		g := t.groups[e.Name()]
		if g == nil {
			f, err := proc.Open(filepath.Join(t.root, e.Name(), "cpu.stat"))
			if err != nil {
				continue // ended since it was listed
			}
			g = &group{file: f}
			t.groups[e.Name()] = g
		}
		b, err := g.file.Read()
		if err != nil {
			continue
		}
		usec, ok := proc.Keyed(b, "usage_usec")
		if !ok {
			return fmt.Errorf("task meter: cpu.stat of %s: no usage_usec in %q", e.Name(), b)
		}
		g.last, g.alive = int64(usec)*1000, true
	}
	return nil
}

func (t *Tasks) readProcesses() error {
	b, err := t.procs.Read()
	if err != nil {
		return err
	}
	for _, c := range t.clocks {
		c.alive = false
	}
	for line := range bytes.Lines(b) {
		pid, err := strconv.Atoi(string(bytes.TrimSpace(line)))
		if err != nil {
			return fmt.Errorf("task meter: cgroup.procs: %q is not a process", line)
		}
		var ts unix.Timespec
		id := processClock(pid)
		if unix.ClockGettime(id, &ts) != nil {
			continue // ended, or outside of this PID namespace
		}
		if t.clocks[id] == nil {
			t.clocks[id] = &ended{}
		}
		*t.clocks[id] = ended{ts.Nano(), true}
	}
	return nil
}

// Close closes the files.
func (t *Tasks) Close() error {
	for _, g := range t.groups {
		g.file.Close()
	}
	for _, f := range []*proc.File{t.v1, t.procs} {
		if f != nil {
			f.Close()
		}
	}
	return nil
}
