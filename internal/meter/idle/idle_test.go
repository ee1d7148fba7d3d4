package idle

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// stand runs the programs by hand, on one CPU, with this thread taken for the idle task.
type stand struct {
	t        *testing.T
	counts   *ebpf.Map
	programs map[string]*ebpf.Program
	cpu      int
}

func newStand(t *testing.T) *stand {
	t.Helper()
	runtime.LockOSThread() // for the rest of the test, whose thread ends with it
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	b := &stand{t: t, programs: map[string]*ebpf.Program{}}
	for !all.IsSet(b.cpu) {
		b.cpu++
	}
	one.Set(b.cpu)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		t.Fatal(err)
	}
	var err error
	if b.counts, err = newCounts(); err != nil {
		skipIfRefused(t, err)
		t.Fatal(err)
	}
	t.Cleanup(func() { b.counts.Close() })
	for _, h := range hooks {
		p, err := h.load(b.counts, int32(unix.Gettid()))
		if err != nil {
			skipIfRefused(t, err)
			t.Fatalf("%s: %+v", h.tracepoint, err)
		}
		t.Cleanup(func() { p.Close() })
		b.programs[h.tracepoint] = p
	}
	return b
}

func skipIfRefused(t *testing.T, err error) {
	if errors.Is(err, os.ErrPermission) || errors.Is(err, unix.ENOSYS) {
		t.Skipf("BPF programs may not be loaded here: %v", err)
	}
}

// comes lets the tracepoints be passed one after the other and returns the CPU's fields after each.
func (b *stand) comes(tracepoints ...string) (after [][fieldsSize / 8]uint64) {
	b.t.Helper()
	for _, name := range tracepoints {
		args := [2]uint64{1, 0}
		if name == "cpu_idle exit" {
			name, args[0] = "cpu_idle", 0xffffffff
		}
		if _, err := b.programs[name].Run(&ebpf.RunOptions{Context: args}); err != nil {
			b.t.Fatalf("%s: %v", name, err)
		}
		var cpus [][fieldsSize / 8]uint64
		if err := b.counts.Lookup(uint32(0), &cpus); err != nil {
			b.t.Fatal(err)
		}
		after = append(after, cpus[b.cpu])
	}
	return after
}

func (b *stand) want(name string, got, want uint64) {
	b.t.Helper()
	if got != want {
		b.t.Errorf("%s: %d ns, want %d", name, got, want)
	}
}

func TestOutOfIdle(t *testing.T) {
	b := newStand(t)
	s := b.comes("cpu_idle", "cpu_idle exit", "cpu_idle", "cpu_idle exit", "sched_switch")
	b.want("interrupts", s[4][irq/8], 0)

	// One that comes after the idle state was left is booked when the CPU switches to a task, and not before.
	s = b.comes("cpu_idle", "cpu_idle exit", "irq_handler_entry", "irq_handler_exit", "cpu_idle exit", "sched_switch")
	b.want("on the way", s[4][irq/8], 0)
	b.want("interrupt", s[5][irq/8], s[3][ended/8]-s[2][began/8])
}

func TestAnInterruptEndsWithItsLastHandler(t *testing.T) {
	b := newStand(t)
	s := b.comes("cpu_idle", "irq_handler_entry", "irq_handler_exit", "softirq_entry", "local_timer_entry", "local_timer_exit",
		"softirq_exit", "cpu_idle exit", "sched_switch")
	b.want("not booked while it lasts", s[6][irq/8], 0)
	b.want("handlers open", s[6][depth/8], 0)
	b.want("interrupt", s[8][irq/8], s[6][ended/8]-s[1][began/8])
}

func TestEachInterruptOfOneIdleIsBooked(t *testing.T) {
	b := newStand(t)
	s := b.comes("cpu_idle", "irq_handler_entry", "irq_handler_exit", "irq_handler_entry", "irq_handler_exit", "cpu_idle exit", "cpu_idle")
	first, second := s[2][ended/8]-s[1][began/8], s[4][ended/8]-s[3][began/8]
	b.want("first, when the second begins", s[3][irq/8], first)
	b.want("both, when idle begins again", s[6][irq/8], first+second)
}

func TestWhatBeganBeforeTheProgramsIsLeftOut(t *testing.T) {
	b := newStand(t)
	s := b.comes("softirq_exit", "irq_handler_exit", "cpu_idle", "cpu_idle exit", "sched_switch")
	b.want("interrupts", s[4][irq/8], 0)
	b.want("handlers open", s[4][depth/8], 0)
}

// An interrupt of which no handler's end was seen is not booked up to an earlier one's.
func TestWithoutAnEndNothingIsBooked(t *testing.T) {
	b := newStand(t)
	s := b.comes("cpu_idle", "irq_handler_entry", "irq_handler_exit", "irq_handler_entry", "sched_switch", "cpu_idle")
	first := s[2][ended/8] - s[1][began/8]
	b.want("first", s[3][irq/8], first)
	b.want("second", s[4][irq/8], first)
	b.want("open", s[4][began/8], 0)
	b.want("later", s[5][irq/8], first)
}

func TestTasksAreNotIdle(t *testing.T) {
	b := newStand(t)
	for _, h := range hooks {
		p, err := h.load(b.counts, idleTask)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
		b.programs[h.tracepoint] = p
	}
	s := b.comes("irq_handler_entry", "irq_handler_exit", "softirq_entry", "softirq_exit", "local_timer_entry", "local_timer_exit", "sched_switch", "sched_switch")
	last := s[len(s)-1]
	if last != [fieldsSize / 8]uint64{} {
		t.Errorf("fields %v", last)
	}
}

func TestOpenAttachesAndReads(t *testing.T) {
	r, err := Open()
	if err != nil {
		skipIfRefused(t, err)
		t.Fatal(err)
	}
	defer r.Close()
	v := make([]float64, len(r.Columns()))
	last := v
	for range 3 {
		v = make([]float64, len(v))
		if err := r.Read(v); err != nil {
			t.Fatal(err)
		}
		for i := range v {
			if v[i] < last[i] {
				t.Errorf("%s fell from %g to %g", r.Columns()[i], last[i], v[i])
			}
		}
		last = v
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
