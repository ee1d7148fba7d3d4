// Package idle measures interrupts on CPUs that run no task. The kernel stops the CPU's idle time
// for them (tick_nohz_stop_idle in kernel/time/tick-sched.c), and no task's time includes them. The
// measurement is a lower bound: the entry before the first handler and the return after the last
// one have no tracepoint, and the exit from idle is not included.
package idle

import (
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"tare/internal/bench"
)

// Reader sums the counters of BPF programs at kernel tracepoints over all CPUs. The programs end
// with the Reader or the process.
type Reader struct {
	counts *ebpf.Map
	links  []link.Link
}

var columns = []string{bench.ColIdleIRQ}

// Open loads the programs. It needs CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN, and a kernel with
// BPF and tracepoints.
func Open() (*Reader, error) {
	m, err := newCounts()
	if err != nil {
		return nil, fmt.Errorf("open idle meter: %w", err)
	}
	r := &Reader{counts: m}
	for _, h := range hooks {
		l, err := h.attach(m)
		switch {
		case err == nil:
			r.links = append(r.links, l)
		case !h.optional:
			r.Close()
			return nil, fmt.Errorf("open idle meter: tracepoint %s: %w", h.tracepoint, err)
		}
	}
	return r, nil
}

// idleTask is the task id of every CPU's idle task.
const idleTask = 0

func newCounts() (*ebpf.Map, error) {
	return ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: fieldsSize, MaxEntries: 1})
}

func (h hook) load(m *ebpf.Map, idle int32) (*ebpf.Program, error) {
	return ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.RawTracepoint, License: "GPL", Instructions: h.program(m, idle)})
}

func (h hook) attach(m *ebpf.Map) (link.Link, error) {
	p, err := h.load(m, idleTask)
	if err != nil {
		return nil, err
	}
	defer p.Close() // the link holds it
	return link.AttachRawTracepoint(link.RawTracepointOptions{Name: h.tracepoint, Program: p})
}

func (r *Reader) Meter() string      { return "idle" }
func (r *Reader) Level() bench.Level { return bench.Host }
func (r *Reader) Columns() []string  { return columns }

// Read fills values.
func (r *Reader) Read(v []float64) error {
	var cpus [][fieldsSize / 8]uint64
	if err := r.counts.Lookup(uint32(0), &cpus); err != nil {
		return fmt.Errorf("idle meter: %w", err)
	}
	var sum uint64
	for _, c := range cpus {
		sum += c[irq/8]
	}
	v[0] = float64(sum) / 1e9
	return nil
}

// Close ends the programs.
func (r *Reader) Close() error {
	for _, l := range r.links {
		l.Close()
	}
	return r.counts.Close()
}

var _ bench.Reader = (*Reader)(nil)
