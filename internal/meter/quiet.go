package meter

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host/proc"
)

// Quiet reads one of many idle instances cheaply. It reads the CPU time of its control group and of
// the processes outside that serve only it, the memory charged to the group, and those processes'
// resident set. This takes two short files, and a file and a system call for each such process. The
// cost does not depend on the number of instances. A hundred take 1 to 2 ms.
type Quiet struct {
	cpu, memory *proc.File
	parse       func(b []byte, v []float64) error
	helpers     []quietProcess
	page        float64
}

type quietProcess struct {
	clock int32
	last  int64      // nanoseconds; the last reading of an ended process is kept
	statm *proc.File // nil if the process has already ended
}

var quietColumns = []string{bench.ColCPUBusy, bench.ColMemCharged, bench.ColMemRSS}

// OpenQuiet opens the instance's files. It returns an error if its control groups have neither.
func OpenQuiet(s bench.Scope) (*Quiet, error) {
	q := &Quiet{page: float64(os.Getpagesize())}
	open := func(group, file string) *proc.File {
		dir := s.Cgroups[group]
		if dir == "" {
			return nil
		}
		f, err := proc.Open(filepath.Join(dir, file))
		if err != nil {
			return nil
		}
		return f
	}
	if q.cpu, q.parse = open("cpuacct", "cpuacct.usage"), parseQuietV1; q.cpu == nil {
		q.cpu, q.parse = open("unified", "cpu.stat"), parseQuietV2
	}
	if q.memory = open("memory", "memory.usage_in_bytes"); q.memory == nil {
		q.memory = open("unified", "memory.current")
	}
	if q.cpu == nil && q.memory == nil {
		return nil, fmt.Errorf("open meter of an idle instance: no accounting file in %v", s.Cgroups)
	}
	for _, p := range s.Helpers {
		if p.Inside {
			continue
		}
		h := quietProcess{clock: processClock(p.PID)}
		if f, err := proc.Open(filepath.Join("/proc", strconv.Itoa(p.PID), "statm")); err == nil {
			h.statm = f
		}
		q.helpers = append(q.helpers, h)
	}
	return q, nil
}

func (*Quiet) Meter() string      { return "quiet" }
func (*Quiet) Level() bench.Level { return bench.Layer }
func (*Quiet) Columns() []string  { return quietColumns }

// Read fills values. The column of a file that cannot be read is missing.
func (q *Quiet) Read(v []float64) error {
	missing(v)
	var errs []error
	read := func(f *proc.File, parse func([]byte, []float64) error) {
		if f == nil {
			return
		}
		b, err := f.Read()
		if err == nil {
			err = parse(b, v)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	read(q.cpu, q.parse)
	read(q.memory, parseCharged)
	v[2] = 0
	for i := range q.helpers {
		h := &q.helpers[i]
		var ts unix.Timespec
		if unix.ClockGettime(h.clock, &ts) == nil {
			h.last = ts.Nano()
		}
		v[0] += float64(h.last) / 1e9
		pages, err := h.resident()
		errs = append(errs, err)
		v[2] += pages * q.page
	}
	return errors.Join(errs...)
}

// Close closes the files.
func (q *Quiet) Close() error {
	files := []*proc.File{q.cpu, q.memory}
	for _, h := range q.helpers {
		files = append(files, h.statm)
	}
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
	return nil
}

// resident returns the process's resident set in pages, 0 if it has ended.
func (h *quietProcess) resident() (float64, error) {
	if h.statm == nil {
		return 0, nil
	}
	b, err := h.statm.Read()
	if err != nil || len(b) == 0 {
		return 0, nil
	}
	return parseStatm(b)
}

// parseStatm reads the resident set of /proc/PID/statm (proc_pid_statm(5)).
func parseStatm(b []byte) (float64, error) {
	f := bytes.Fields(b)
	if len(f) < 2 {
		return 0, fmt.Errorf("statm: %q has no resident set", b)
	}
	n, ok := proc.Single(f[1])
	if !ok {
		return 0, fmt.Errorf("statm: %q is not a number", f[1])
	}
	return n, nil
}

func parseQuietV1(b []byte, v []float64) error {
	n, ok := proc.Single(b)
	if !ok {
		return fmt.Errorf("cpuacct.usage: %q is not a number", b)
	}
	v[0] = n / 1e9
	return nil
}

func parseQuietV2(b []byte, v []float64) error {
	n, ok := proc.Keyed(b, "usage_usec")
	if !ok {
		return fmt.Errorf("cpu.stat: no number under usage_usec in %q", b)
	}
	v[0] = n / 1e6
	return nil
}

func parseCharged(b []byte, v []float64) error {
	n, ok := proc.Single(b)
	if !ok {
		return fmt.Errorf("memory charged: %q is not a number", b)
	}
	v[1] = n
	return nil
}

var _ bench.Reader = (*Quiet)(nil)
