package meter

import (
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/proc"
)

// Quiet reads an idle instance of a crowd at the least cost: its CPU time,
// which is that of its control group and of the processes that serve it alone
// from outside, and the memory charged to the group. Two short files and a
// system call for each such process are read, whose cost does not depend on how many instances
// there are; a crowd of hundreds is read in a millisecond or two.
type Quiet struct {
	cpu, memory *proc.File
	parse       func(b []byte, v []float64) error
	helpers     []quietProcess
}

type quietProcess struct {
	clock int32
	last  int64 // nanoseconds; of one that has ended the last reading stands
}

var quietColumns = []string{bench.ColCPUBusy, bench.ColMemCharged}

// OpenQuiet opens the instance's files; it is an error if its control groups have neither.
func OpenQuiet(s bench.Scope) (*Quiet, error) {
	q := &Quiet{}
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
		if !p.Inside {
			q.helpers = append(q.helpers, quietProcess{clock: processClock(p.PID)})
		}
	}
	return q, nil
}

func (*Quiet) Meter() string      { return "quiet" }
func (*Quiet) Level() bench.Level { return bench.Layer }
func (*Quiet) Columns() []string  { return quietColumns }

// Read fills values; a file that cannot be read leaves its column missing.
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
	for i := range q.helpers {
		h := &q.helpers[i]
		var ts unix.Timespec
		if unix.ClockGettime(h.clock, &ts) == nil {
			h.last = ts.Nano()
		}
		v[0] += float64(h.last) / 1e9
	}
	return errors.Join(errs...)
}

// Close closes the files.
func (q *Quiet) Close() error {
	for _, f := range []*proc.File{q.cpu, q.memory} {
		if f != nil {
			f.Close()
		}
	}
	return nil
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
