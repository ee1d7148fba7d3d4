package run

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/guest/agent"
	"tare/internal/host/clock"
	"tare/internal/meter/sched"
)

// sampler reads every source of every level at the same instants: on the whole
// intervals of the host's monotonic clock, and whenever the trial asks. It runs
// on a thread of its own with a high priority, so that a busy machine does not
// make it late.
type sampler struct {
	mu       sync.Mutex // one tick at a time, see turn
	patience time.Duration
	at       atomic.Pointer[source] // what is being read on the host, nil while the agents' answers are waited for
	readers  []source
	guests   []*guest
	beyond   []source // in outer guests: read beside the host's, as guests are
	edges    []source // read at the window's edges only
	sched    *sched.Meter
	readings []reading
	stop     int // eventfd that wakes the thread to end
	done     chan struct{}
}

func newSampler() *sampler { return &sampler{patience: stuckAfter, done: make(chan struct{})} }

// turn waits for the tick under way to end, and reports whether it has: mu is held then.
func (s *sampler) turn() bool {
	for deadline := time.Now().Add(s.patience); !s.mu.TryLock(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// source is a reader on the host.
type source struct {
	bench.Reader
	actor   string
	columns []string
	values  []float64
}

// newSource makes one of a reader; the actor is "" for the host's.
func newSource(r bench.Reader, actor string) source {
	cols := r.Columns()
	return source{r, actor, cols, make([]float64, len(cols))}
}

// guest is a reader inside an instance.
type guest struct {
	client  *agent.Client
	actor   string
	columns []string
	values  []float64
	cpu     int     // the column of the agent's own CPU time, or -1
	spent   float64 // that time at the last reading

	asked    int64 // when sampling began
	sampling *agent.Sampling
}

// guestDeadline bounds how long a tick waits for an agent's reading.
const guestDeadline = 900 * time.Millisecond

// stuckAfter is how long a tick may take before the trial is given up for it. A source of the host answers in
// microseconds, an agent that does not answer is given up before.
const stuckAfter = 30 * time.Second

// add lets readers take part from the next tick on. Those of a sampler that is stuck are closed.
func (s *sampler) add(actor string, rs ...bench.Reader) {
	if !s.turn() {
		for _, r := range rs {
			r.Close()
		}
		return
	}
	defer s.mu.Unlock()
	for _, r := range rs {
		s.readers = append(s.readers, newSource(r, actor))
	}
}

// stuck says what the sampler hangs in.
func (s *sampler) stuck() error {
	what := "an agent"
	if r := s.at.Load(); r != nil {
		what = fmt.Sprintf("meter %s of level %s", r.Meter(), r.Level())
		if r.actor != "" {
			what += ", " + r.actor
		}
	}
	return fmt.Errorf("the sampler did not end within %v: it hangs in %s", s.patience, what)
}

// close closes all readers.
func (s *sampler) close() {
	for _, r := range s.edges {
		r.Close()
	}
	if s.sched != nil {
		_ = s.sched.Close() // its program ends with its descriptors in any case
	}
	for _, r := range slices.Concat(s.readers, s.beyond) {
		r.Close()
	}
}

// openBeyond opens the meters that a nested actor has in its outer guest.
func (s *sampler) openBeyond(a *actor) error {
	m, ok := a.instance.(bench.Metered)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerDeadline)
	defer cancel()
	rs, err := m.Readers(ctx)
	if err != nil {
		return fmt.Errorf("open meters of %s: %w", a.Name, err)
	}
	for _, r := range rs {
		s.beyond = append(s.beyond, newSource(r, a.Name))
	}
	return nil
}

// loop ticks on the whole intervals of the monotonic clock until it is stopped.
func (s *sampler) loop(interval time.Duration, cpus []int) {
	defer close(s.done)
	runtime.LockOSThread() // never unlocked: the thread, with its priority, ends with the goroutine
	favour(cpus)
	for {
		now := clock.Now()
		next := now - now%int64(interval) + int64(interval)
		wait := unix.NsecToTimespec(next - now)
		n, _ := unix.Ppoll([]unix.PollFd{{Fd: int32(s.stop), Events: unix.POLLIN}}, &wait, nil)
		if n > 0 {
			return
		}
		if clock.Now() >= next {
			s.tick(next)
		}
	}
}

// favour gives the calling thread the highest ordinary priority and keeps it on
// cpus. A host that allows neither samples later; the samples say how late.
func favour(cpus []int) {
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), -20)
	keepOn(cpus)
}

// keepOn keeps the calling thread on cpus, if there are any.
func keepOn(cpus []int) {
	if len(cpus) > 0 {
		var set unix.CPUSet
		for _, c := range cpus {
			set.Set(c)
		}
		_ = unix.SchedSetaffinity(0, &set)
	}
}

// edge reads everything at an edge of the window, what is too dear for a tick last.
func (s *sampler) edge(at int64) { s.tick(at, s.edges...) }

// tick reads everything once, and what else is given. at is the instant the readings are for.
func (s *sampler) tick(at int64, further ...source) {
	if !s.turn() {
		return // whoever stops the sampler says so
	}
	defer s.mu.Unlock()
	runtime.LockOSThread() // the cost of a read is its thread's CPU time
	defer runtime.UnlockOSThread()
	// The answers of the guests come while the host is read.
	ctx, cancel := context.WithTimeout(context.Background(), guestDeadline)
	defer cancel()
	answers := make(chan reading, len(s.beyond))
	for _, g := range s.guests {
		g.asked, g.sampling = clock.Now(), g.client.StartSample()
	}
	for i := range s.beyond {
		go func() { answers <- s.beyond[i].ask(at) }()
	}
	for i := range s.readers {
		s.at.Store(&s.readers[i])
		s.readings = append(s.readings, s.readers[i].sample(at))
	}
	for i := range further {
		s.at.Store(&further[i])
		s.readings = append(s.readings, further[i].sample(at))
	}
	s.at.Store(nil)
	for _, g := range s.guests {
		if a := g.answer(ctx, at); a.Values != nil {
			s.readings = append(s.readings, a)
		}
	}
	for range s.beyond {
		if a := <-answers; a.Values != nil {
			s.readings = append(s.readings, a)
		}
	}
}

func (r *source) sample(at int64) reading {
	began, cpu := clock.Now(), clock.ThreadCPU()
	// A source that fails leaves its columns missing, which the analysis reports.
	_ = r.Read(r.values)
	ended := clock.Now()
	return reading{asked: began, received: ended, Sample: bench.Sample{
		At: at, Late: began - at, Took: ended - began, CPU: clock.ThreadCPU() - cpu,
		Level: r.Level(), Actor: r.actor, Meter: r.Meter(), Values: named(r.columns, r.values),
	}}
}

// ask reads a source in an outer guest. What it costs there is part of that
// guest's own figures; here it costs nothing but waiting.
func (r *source) ask(at int64) reading {
	began := clock.Now()
	if err := r.Read(r.values); err != nil {
		return reading{}
	}
	ended := clock.Now()
	return reading{asked: began, received: ended, Sample: bench.Sample{
		At: at, Late: began - at, Took: ended - began,
		Level: r.Level(), Actor: r.actor, Meter: r.Meter(), Values: named(r.columns, r.values),
	}}
}

// answer waits for the agent's. Took is the whole round trip; CPU what the agent spent
// since the reading before, all its work included. Late is known once the clocks are.
func (g *guest) answer(ctx context.Context, at int64) reading {
	guestNow, ended, err := g.sampling.Wait(ctx, g.values)
	if err != nil {
		return reading{}
	}
	var cpu int64
	if g.cpu >= 0 {
		if d := g.values[g.cpu] - g.spent; d > 0 {
			cpu = int64(d * 1e9)
		}
		g.spent = g.values[g.cpu]
	}
	return reading{asked: g.asked, received: ended, Sample: bench.Sample{
		At: at, Late: g.asked - at, Took: ended - g.asked, CPU: cpu, Guest: guestNow,
		Level: bench.Guest, Actor: g.actor, Meter: "agent", Values: named(g.columns, g.values),
	}}
}

// named leaves out what is missing.
func named(columns []string, values []float64) map[string]float64 {
	m := make(map[string]float64, len(columns))
	for i, c := range columns {
		if v := values[i]; !math.IsNaN(v) {
			m[c] = v
		}
	}
	return m
}
