package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/agent"
	"tare/internal/bench"
	"tare/internal/clock"
	"tare/internal/meter"
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

// observe begins to sample, unless the scene is not to be observed.
func (x *trial) observe(ctx context.Context) error {
	if x.scene.Unmetered {
		x.outcome.Unmetered = true
		x.warn("no meter was read, on purpose: the specification says unmetered")
		return x.describeScopes()
	}
	var beside []bench.Process
	if x.Beside != nil {
		var err error
		if beside, x.stop, err = x.Beside(ctx, x.scene); err != nil {
			return fmt.Errorf("start what runs beside: %w", err)
		}
	}
	return x.startSampler(beside)
}

// startSampler opens the readers of the host, of what runs beside, of every
// actor's layer and guest, and begins to sample.
func (x *trial) startSampler(beside []bench.Process) error {
	s := newSampler()
	host, err := meter.OpenHost()
	if err != nil {
		return err
	}
	s.add("", host...)
	if len(beside) > 0 {
		r, err := meter.OpenBeside(beside)
		if err != nil {
			s.close()
			return err
		}
		s.add("", r)
	}
	if err := x.describeScopes(); err != nil {
		s.close()
		return err
	}
	s.add("", x.openIdleDaemons()...)
	x.openSched(s)
	served := map[string]bool{} // platforms whose shared daemons are read already
	for _, a := range x.actors {
		favourAgent(a.outcome.Scope)
		rs, err := x.openLayer(a, served)
		if err != nil {
			s.close()
			return fmt.Errorf("open meters of %s: %w", a.Name, err)
		}
		s.add(a.Name, rs...)
		if a.cage != nil {
			continue // its agent has the harm around it: what it costs is read from outside
		}
		if err := s.openBeyond(a); err != nil {
			s.close()
			return err
		}
		if a.rests() {
			continue
		}
		cols := a.client.Columns()
		s.guests = append(s.guests, &guest{
			client: a.client, actor: a.Name, columns: cols, values: make([]float64, len(cols)),
			cpu: slices.Index(cols, bench.ColObserver), spent: math.NaN(),
		})
	}
	return x.begin(s)
}

// openLayer opens the meters of an actor's layer. Daemons that serve several
// instances are read with the first; of another that rests little is read.
func (x *trial) openLayer(a *actor, served map[string]bool) ([]bench.Reader, error) {
	scope, driver := *a.outcome.Scope, a.Platform.Driver()
	if served[driver] {
		scope.Shared = nil
	}
	if len(scope.Shared) > 0 {
		served[driver] = true
	}
	if !a.rests() || len(scope.Shared) > 0 || len(scope.Cgroups) == 0 {
		return meter.OpenLayer(scope, x.Lab)
	}
	q, err := meter.OpenQuiet(scope)
	if err != nil {
		return nil, err
	}
	return []bench.Reader{q}, nil
}

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
		cols := r.Columns()
		s.readers = append(s.readers, source{r, actor, cols, make([]float64, len(cols))})
	}
}

// begin starts the sampler's thread.
func (x *trial) begin(s *sampler) (err error) {
	if s.stop, err = unix.Eventfd(0, unix.EFD_CLOEXEC); err != nil {
		s.close()
		return fmt.Errorf("start sampler: %w", err)
	}
	x.sampler = s
	// With one processor the runtime's monitor takes that of a thread which waits
	// at once; with more it looks at it 65 times a second, for ten milliseconds
	// after every tick, which cost more than all of the readings.
	runtime.GOMAXPROCS(1)
	go s.loop(x.Interval, x.Observer)
	return nil
}

// openIdleDaemons opens readers of the daemons that this trial has no instance
// for, as far as earlier ones told of them: what they use now is not on behalf
// of anything measured. Those that have ended meanwhile are left out.
func (x *trial) openIdleDaemons() []bench.Reader {
	var readers []bench.Reader
	for _, platform := range slices.Sorted(maps.Keys(x.daemons)) {
		if slices.ContainsFunc(x.actors, func(a *actor) bool { return a.Platform.Driver() == platform }) {
			continue
		}
		if r, err := meter.OpenDaemons("/proc", platform, x.daemons[platform]); err == nil {
			readers = append(readers, r)
		}
	}
	return readers
}

// endSampling ends sampling, however the trial came to its end, err, and returns that or else why what was sampled
// is none.
func (x *trial) endSampling(err error) error {
	stuck := x.stopSampler()
	x.settle()
	if err == nil {
		return stuck
	}
	if stuck != nil {
		x.warn("%v", stuck)
	}
	return err
}

// stopSampler ends sampling and keeps what was sampled. It may be called again. A sampler that does not end, or
// was held up by an agent, is an error; the first is left behind as it is.
func (x *trial) stopSampler() error {
	if x.stop != nil {
		defer x.stop()
		x.stop = nil
	}
	s := x.sampler
	if s == nil {
		return nil
	}
	x.sampler = nil
	unix.Write(s.stop, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	defer runtime.SetDefaultGOMAXPROCS()
	select {
	case <-s.done:
	case <-time.After(s.patience):
		return s.stuck()
	}
	unix.Close(s.stop)
	s.close()
	x.readings = s.readings
	for _, g := range s.guests {
		if err := g.client.Err(); errors.Is(err, agent.ErrDeaf) {
			return fmt.Errorf("the samples of all levels were held up by %s: %w", g.actor, err)
		}
	}
	return nil
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
		cols := r.Columns()
		s.beyond = append(s.beyond, source{r, a.Name, cols, make([]float64, len(cols))})
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

// favourAgent gives the agent of an instance that shares the host's kernel the
// priority the sampler has. It is called before any command runs inside, when
// the instance's cgroup holds nothing else; commands do not inherit it.
func favourAgent(s *bench.Scope) {
	dir := cmp.Or(s.Cgroups["cpu"], s.Cgroups["unified"])
	if s.OwnKernel || dir == "" {
		return
	}
	procs, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return // the samples say how late they are
	}
	for _, pid := range strings.Fields(string(procs)) {
		tasks, err := os.ReadDir(filepath.Join("/proc", pid, "task"))
		if err != nil {
			continue
		}
		for _, t := range tasks {
			if tid, err := strconv.Atoi(t.Name()); err == nil {
				_ = unix.Setpriority(unix.PRIO_PROCESS, tid, -20)
			}
		}
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
