// Package sched reads how often the tasks of an instance were put on a CPU, how
// long they ran there and how long they waited for it, as the host's scheduler
// counts it (CONFIG_SCHED_INFO). Nothing runs while an instance does: the kernel
// counts anyway, and what a task had when it ended is added up by a program at
// its end. So readings are for the edges of a window: one costs some ten
// microseconds for each task.
package sched

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"tare/internal/bench"
	"tare/internal/host/proc"
)

// Meter opens readers that share the program at the end of tasks.
type Meter struct {
	proc      string
	exits     map[bool]*exits // by whether groups are of version 2; nil where there is no program
	uncounted error
}

// Open is for the tree mounted at procDir. The error says that the kernel keeps no counts.
func Open(procDir string) (*Meter, error) {
	var u buffers
	b, err := readInto(u.sched[:], filepath.Join(procDir, "self/schedstat"))
	if err != nil {
		return nil, fmt.Errorf("open scheduler meter: %w", err)
	}
	own, err := proc.ParseSched(b)
	if err != nil {
		return nil, fmt.Errorf("open scheduler meter: %w", err)
	}
	if own.Executions == 0 {
		return nil, errors.New("open scheduler meter: this kernel keeps no count of executions (CONFIG_SCHED_INFO)")
	}
	return &Meter{proc: procDir, exits: map[bool]*exits{}}, nil
}

// Close ends the program. The readers must not be read any more.
func (m *Meter) Close() error {
	var errs []error
	for _, x := range m.exits {
		if x != nil {
			errs = append(errs, x.close())
		}
	}
	return errors.Join(errs...)
}

// Uncounted says why tasks that end between two readings are missing from what
// the readers say; nil if they are not.
func (m *Meter) Uncounted() error { return m.uncounted }

// Watch opens a reader of the tasks in the scope's control groups.
func (m *Meter) Watch(s bench.Scope) (*Reader, error) {
	if s.Domain != 0 {
		return nil, errors.New("no executions of a domain are counted by Xen")
	}
	g, unified, err := groupOf(s.Cgroups)
	if err != nil {
		return nil, err
	}
	r := &Reader{proc: m.proc, group: g, columns: columns}
	if i := slices.IndexFunc(s.Helpers, func(p bench.Process) bool { return p.Part == "vmm" }); i >= 0 {
		r.columns, r.threads = slices.Concat(columns, vcpuColumns), s.Helpers[i].Threads
	}
	if r.id, err = g.inode(); err != nil {
		return nil, err
	}
	x, tried := m.exits[unified]
	if !tried {
		x, m.uncounted = openExits(unified)
		m.exits[unified] = x
	}
	if x == nil {
		r.last = map[key]proc.Sched{}
		return r, nil
	}
	if err := x.watch(r.id); err != nil {
		return nil, fmt.Errorf("watch the ends of tasks in %s: %w", g.dir, err)
	}
	r.exits = x
	return r, nil
}

var (
	columns     = []string{bench.ColSchedExecutions, bench.ColSchedRun, bench.ColSchedWait, bench.ColSchedExits}
	vcpuColumns = []string{bench.ColSchedVCPUExecutions, bench.ColSchedVCPURun, bench.ColSchedVCPUWait}
)

// Reader sums over the tasks of one instance. Its values are exact but for tasks
// that end while they are read, and for the last steps of an end.
type Reader struct {
	proc    string
	group   group
	id      uint64
	columns []string
	threads *bench.Threads // of the monitor, nil where there is none
	exits   *exits
	last    map[key]proc.Sched // by task at the last reading, where ends are not counted
	past    proc.Sched         // of those that are gone since
	buffers buffers
}

// A key tells a task from another that has its number later.
type key struct {
	tid   int
	start uint64
}

func (r *Reader) Meter() string      { return bench.MeterSched }
func (r *Reader) Level() bench.Level { return bench.Layer }
func (r *Reader) Columns() []string  { return r.columns }

// Close does nothing: the meter holds what there is to close.
func (r *Reader) Close() error { return nil }

// tries bounds how often tasks are read again because one ended meanwhile.
const tries = 3

// Read fills values.
func (r *Reader) Read(v []float64) error {
	for i := range v {
		v[i] = math.NaN()
	}
	ran, err := r.group.ran()
	if err != nil {
		return fmt.Errorf("scheduler meter: %w", err)
	}
	var all, vcpu proc.Sched
	var before ended
	for range tries {
		if before, err = r.endings(); err != nil {
			return fmt.Errorf("scheduler meter: %w", err)
		}
		var leaving bool
		if all, vcpu, leaving, err = r.sum(); err != nil {
			return fmt.Errorf("scheduler meter: %w", err)
		}
		after, err := r.endings()
		if err != nil {
			return fmt.Errorf("scheduler meter: %w", err)
		}
		if after.Tasks == before.Tasks && !leaving {
			break
		}
	}
	v[0] = float64(all.Executions + before.Executions)
	v[1] = ran
	v[2] = float64(all.Waited+before.Waited) / 1e9
	if r.exits != nil {
		v[3] = float64(before.Tasks)
	}
	if len(v) > len(columns) {
		copy(v[len(columns):], []float64{float64(vcpu.Executions), float64(vcpu.Ran) / 1e9, float64(vcpu.Waited) / 1e9})
	}
	return nil
}

func (r *Reader) endings() (ended, error) {
	if r.exits == nil {
		return ended{}, nil
	}
	return r.exits.of(r.id)
}

// sum adds up the tasks that are there. One that is leaving is counted by the
// program at its end, or will be in a moment.
func (r *Reader) sum() (all, vcpu proc.Sched, leaving bool, err error) {
	var seen map[key]proc.Sched
	if r.last != nil {
		seen = map[key]proc.Sched{}
	}
	err = r.group.each(func(tid int) error {
		t, ok, err := r.buffers.read(r.proc, tid)
		if !ok {
			return err
		}
		if t.Exiting && r.exits != nil {
			leaving = true
			return nil
		}
		all = plus(all, t.Sched)
		if r.threads.Part(string(t.Name)) == "vcpu" {
			vcpu = plus(vcpu, t.Sched)
		}
		if seen != nil {
			seen[key{tid, t.Start}] = t.Sched
		}
		return nil
	})
	if seen == nil || err != nil {
		return all, vcpu, leaving, err
	}
	for t, s := range r.last {
		if _, still := seen[t]; !still {
			r.past = plus(r.past, s)
		}
	}
	r.last = seen
	return plus(all, r.past), vcpu, false, nil
}

func plus(a, b proc.Sched) proc.Sched {
	return proc.Sched{Ran: a.Ran + b.Ran, Waited: a.Waited + b.Waited, Executions: a.Executions + b.Executions}
}

var _ bench.Reader = (*Reader)(nil)
