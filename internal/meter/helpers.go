package meter

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host/proc"
)

// Helpers reads the processes that serve instances from outside: their CPU time, their resident
// memory and their traffic with block devices by part. A VMM ("vmm") is split by thread into vcpu,
// iothread and the rest. It keeps the CPU time of processes and threads that have ended, so sums
// never fall.
type Helpers struct {
	columns []string
	parts   []*part
	page    float64
}

// part is the processes of one part, with the column indexes of its CPU time, memory and disk
// traffic.
type part struct {
	column, memory int
	read, written  int
	tasks          []*helper
}

// helper is a process that is read as a whole.
type helper struct {
	pid   int
	clock int32
	last  float64
	gone  bool
	statm *proc.File
	io    *proc.File // nil if the kernel does not count the traffic or denies access
	disk  [2]float64 // bytes read and written at the last reading
	vmm   *vmm
}

// vmm is the threads of a virtual machine monitor.
type vmm struct {
	dir     string
	names   *bench.Threads
	threads map[string]*thread
	past    map[string]int64 // nanoseconds by part, of threads that have ended
}

type thread struct {
	part  string
	file  *proc.File
	last  int64 // nanoseconds; sums of integers do not depend on the order
	alive bool
}

var vmmParts = []string{"vcpu", "iothread", "vmm"}

// OpenHelpers opens the processes on the tree mounted at procDir. It returns an error if one has
// already ended.
func OpenHelpers(procDir string, processes []bench.Process) (*Helpers, error) {
	h := &Helpers{page: float64(os.Getpagesize())}
	byPart := map[string]*part{}
	for _, p := range processes {
		names := []string{p.Part}
		if p.Part == "vmm" {
			names = vmmParts
		}
		for _, name := range names {
			if col := bench.CPUOf(name); !slices.Contains(h.columns, col) {
				h.columns = append(h.columns, col)
			}
		}
		g := byPart[p.Part]
		if g == nil {
			g = &part{column: slices.Index(h.columns, bench.CPUOf(p.Part))}
			byPart[p.Part] = g
			h.parts = append(h.parts, g)
			g.memory = len(h.columns)
			g.read, g.written = g.memory+1, g.memory+2
			h.columns = append(h.columns, bench.MemOf(p.Part), bench.ReadOf(p.Part), bench.WrittenOf(p.Part))
		}
		dir := filepath.Join(procDir, strconv.Itoa(p.PID))
		statm, err := proc.Open(filepath.Join(dir, "statm"))
		if err != nil {
			h.Close()
			return nil, fmt.Errorf("open helper meter: %s (pid %d): %w", p.Part, p.PID, err)
		}
		t := &helper{pid: p.PID, clock: processClock(p.PID), statm: statm}
		if io, err := proc.Open(filepath.Join(dir, "io")); err == nil {
			t.io = io
		}
		if p.Part == "vmm" {
			t.vmm = &vmm{dir: filepath.Join(dir, "task"), names: p.Threads, threads: map[string]*thread{}, past: map[string]int64{}}
		}
		g.tasks = append(g.tasks, t)
	}
	h.columns = append(h.columns, bench.ColMemRSS)
	return h, nil
}

// processClock returns the id of a process's CPU-time clock, which counts all its threads in
// nanoseconds: MAKE_PROCESS_CPUCLOCK of the kernel's include/linux/posix-timers_types.h with
// CPUCLOCK_SCHED.
func processClock(pid int) int32 { return int32(^pid)<<3 | 2 }

func (h *Helpers) Meter() string      { return "helpers" }
func (h *Helpers) Level() bench.Level { return bench.Layer }
func (h *Helpers) Columns() []string  { return h.columns }

// Read fills values.
func (h *Helpers) Read(v []float64) error {
	for i := range v {
		v[i] = 0
	}
	rss := len(v) - 1
	for _, g := range h.parts {
		for _, t := range g.tasks {
			if err := h.readTask(g, t, v, rss); err != nil {
				return err
			}
		}
	}
	return nil
}

func (h *Helpers) readTask(g *part, t *helper, v []float64, rss int) error {
	if !t.gone {
		if b, err := t.statm.Read(); err == nil && len(b) > 0 {
			pages, err := parseStatm(b)
			if err != nil {
				return fmt.Errorf("helper meter: pid %d: %w", t.pid, err)
			}
			v[rss] += pages * h.page
			v[g.memory] += pages * h.page
		} else {
			t.gone = true
		}
	}
	if err := t.readDisk(); err != nil {
		return err
	}
	v[g.read] += t.disk[0]
	v[g.written] += t.disk[1]
	if t.vmm != nil {
		if !t.gone {
			if err := t.vmm.read(); err != nil {
				return err
			}
		}
		for i, col := range h.columns {
			for _, name := range vmmParts {
				if col == bench.CPUOf(name) {
					v[i] += t.vmm.sum(name)
				}
			}
		}
		return nil
	}
	if !t.gone {
		var ts unix.Timespec
		if err := unix.ClockGettime(t.clock, &ts); err == nil {
			t.last = float64(ts.Nano()) / 1e9
		}
	}
	v[g.column] += t.last
	return nil
}

// readDisk reads the process's disk traffic (Documentation/filesystems/proc.rst, /proc/PID/io). For
// an ended process it keeps the last reading. If the file cannot be read, the value is missing.
func (t *helper) readDisk() error {
	if t.io == nil {
		t.disk = [2]float64{math.NaN(), math.NaN()}
		return nil
	}
	b, err := t.io.Read()
	if err != nil || len(b) == 0 {
		return nil
	}
	for i, key := range []string{"read_bytes:", "write_bytes:"} {
		n, ok := proc.Keyed(b, key)
		if !ok {
			return fmt.Errorf("helper meter: io of pid %d: no number under %q in %q", t.pid, key, b)
		}
		t.disk[i] = n
	}
	return nil
}

// read looks for new threads and reads every one's CPU time.
func (m *vmm) read() error {
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		return nil // the process has just ended; keep the last reading
	}
	for _, t := range m.threads {
		t.alive = false
	}
	for _, e := range entries {
		t := m.threads[e.Name()]
		if t == nil {
			comm, err := os.ReadFile(filepath.Join(m.dir, e.Name(), "comm"))
			if err != nil {
				continue
			}
			f, err := proc.Open(filepath.Join(m.dir, e.Name(), "schedstat"))
			if err != nil {
				continue
			}
			t = &thread{part: m.names.Part(string(bytes.TrimSpace(comm))), file: f}
			m.threads[e.Name()] = t
		}
		b, err := t.file.Read()
		if err != nil || len(b) == 0 {
			continue
		}
		ran, err := proc.ParseSchedstat(b)
		if err != nil {
			return fmt.Errorf("helper meter: thread %s: %w", e.Name(), err)
		}
		t.last = nanoseconds(ran)
		t.alive = true
	}
	for tid, t := range m.threads {
		if !t.alive {
			m.past[t.part] += t.last
			t.file.Close()
			delete(m.threads, tid)
		}
	}
	return nil
}

func (m *vmm) sum(part string) float64 {
	s := m.past[part]
	for _, t := range m.threads {
		if t.part == part {
			s += t.last
		}
	}
	return float64(s) / 1e9
}

func nanoseconds(seconds float64) int64 { return int64(math.Round(seconds * 1e9)) }

// Close closes the files.
func (h *Helpers) Close() error {
	for _, g := range h.parts {
		for _, t := range g.tasks {
			t.statm.Close()
			if t.io != nil {
				t.io.Close()
			}
			if t.vmm != nil {
				for _, th := range t.vmm.threads {
					th.file.Close()
				}
			}
		}
	}
	return nil
}
