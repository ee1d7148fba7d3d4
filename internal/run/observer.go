package run

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/guest/agent"
	"tare/internal/host/clock"
	"tare/internal/meter"
)

// observer has the meters of a trial read: it opens them, starts the sampler and ends it.
type observer struct {
	unmetered bool // the scene is not to be observed
	interval  time.Duration
	cpus      []int // of the sampler's thread; empty for any
	network   bench.Testnet
	wire      float64 // bytes per second and direction; 0 if not known
	account   *account
	actors    cast
	daemons   daemons
	power     powerWatches

	sampler    *sampler // while it samples
	counting   bool     // cycles, since the first edge of the window
	stopBeside func()   // ends what runs beside; nil if nothing does
	readings   []reading
}

// start opens the readers of the host, of the processes that run beside, of every
// actor's layer and guest, and begins to sample.
func (o *observer) start(beside []bench.Process) error {
	if o.skips() {
		return nil
	}
	s, err := openHost()
	if err != nil {
		return err
	}
	m := meters{sampler: s, network: o.network, daemons: o.daemons, warn: o.account.warn, served: map[string]bool{}}
	if err := m.open(o.actors, beside); err != nil {
		s.close()
		return err
	}
	o.countCycles()
	return o.begin(s)
}

// countCycles opens the counters of cycles of the subjects' CPUs. Where the host has none, nothing
// is judged by the CPUs' frequency, and the audit says so.
func (o *observer) countCycles() {
	for _, a := range o.actors.ofSubject() {
		if c, err := meter.OpenCycles("/sys", "/dev", a.CPUSet); err == nil {
			a.cycles = c
		}
	}
}

// readCycles begins to count at the first edge of the window, and ends at the second.
func (o *observer) readCycles() {
	for _, a := range o.actors.ofSubject() {
		switch {
		case a.cycles == nil:
		case !o.counting:
			_ = a.cycles.Begin() // Frequency fails then, too
		default:
			a.hertz, _ = a.cycles.Frequency() // 0 is not known
		}
	}
	o.counting = !o.counting
}

// startOnHost begins to sample the host; actors join as they come up.
func (o *observer) startOnHost() error {
	if o.skips() {
		return nil
	}
	s, err := openHost()
	if err != nil {
		return err
	}
	return o.begin(s)
}

// join records where an actor's cost is paid and has what little is read of one that rests sampled.
func (o *observer) join(a *actor) error {
	if err := o.daemons.describe(a); err != nil {
		return err
	}
	if o.sampler == nil {
		return nil
	}
	q, err := meter.OpenQuiet(*a.outcome.Scope)
	if err != nil {
		o.account.warn("%s is not sampled: %v", a.Name, err)
		return nil
	}
	o.sampler.add(a.Name, q)
	return nil
}

// skips reports whether nothing is to be read, and says so in the outcome.
func (o *observer) skips() bool {
	if o.unmetered {
		o.account.outcome.Unmetered = true
		o.account.warn("no meter was read, on purpose: the specification says unmetered")
	}
	return o.unmetered
}

// begin starts the sampler's thread.
func (o *observer) begin(s *sampler) (err error) {
	if s.stop, err = unix.Eventfd(0, unix.EFD_CLOEXEC); err != nil {
		s.close()
		return fmt.Errorf("start sampler: %w", err)
	}
	o.sampler = s
	// With one processor the runtime's monitor takes that of a thread which waits
	// at once; with more it looks at it 65 times a second, for ten milliseconds
	// after every tick, which cost more than all of the readings.
	runtime.GOMAXPROCS(1)
	go s.loop(o.interval, o.cpus)
	return nil
}

// edge reads everything at an edge of the measured window.
func (o *observer) edge(at int64) {
	o.power.atEdge()
	o.readCycles()
	o.sampler.edge(at)
}

// end ends sampling, however the trial came to its end, err, and returns that or else why what was sampled
// is none.
func (o *observer) end(err error) error {
	stuck := o.stop()
	settle(o.account, o.actors, o.readings, o.wire)
	o.readings = nil
	if err == nil {
		return stuck
	}
	if stuck != nil {
		o.account.warn("%v", stuck)
	}
	return err
}

// stop ends sampling and keeps what was sampled. It may be called again. A sampler that does not end, or
// was held up by an agent, is an error; the first is left behind as it is.
func (o *observer) stop() error {
	if o.stopBeside != nil {
		defer o.stopBeside()
		o.stopBeside = nil
	}
	for _, a := range o.actors {
		if a.cycles != nil {
			_ = a.cycles.Close() // nothing was written
			a.cycles = nil
		}
	}
	s := o.sampler
	if s == nil {
		return nil
	}
	o.sampler = nil
	unix.Write(s.stop, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	defer runtime.SetDefaultGOMAXPROCS()
	select {
	case <-s.done:
	case <-time.After(s.patience):
		return s.stuck()
	}
	unix.Close(s.stop)
	s.close()
	o.readings = s.readings
	for _, g := range s.guests {
		if err := g.client.Err(); errors.Is(err, agent.ErrDeaf) {
			return fmt.Errorf("the samples of all levels were held up by %s: %w", g.actor, err)
		}
	}
	return nil
}

// rest measures the machine with nothing launched, for the time.
func rest(ctx context.Context, o *observer, measuring time.Duration) (err error) {
	o.account.enter("setup")
	if err := sleep(ctx, bench.IdleSettle); err != nil {
		return err
	}
	if err := o.start(nil); err != nil {
		return fmt.Errorf("observe the machine at rest: %w", err)
	}
	defer func() { err = o.end(err) }()
	o.account.enter("measure")
	edge := func(i int) {
		at := clock.Now()
		o.account.outcome.Window[i] = at
		o.edge(at)
	}
	edge(0)
	err = sleep(ctx, measuring)
	edge(1)
	return err
}
