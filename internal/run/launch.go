package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"tare/internal/bench"
	"tare/internal/guest/agent"
	"tare/internal/host/clock"
	"tare/internal/host/tool"
	"tare/internal/run/trace"
)

// launcher starts instances of a trial, and ends those that go before the others.
type launcher struct {
	engines map[string]Engine
	kernel  *bench.OwnKernel // of machines without an agent; nil for none
	network Testnet          // nil for none
	shared  netip.Addr       // of what shares the network's namespace
	beside  *beside
	scene   *bench.Scene
	account *account
	dirs    *dirs
	cache   *pageCache
}

// engine is that of an actor's platform, if it is open.
func (l *launcher) engine(a *actor) (e Engine, ok bool) {
	if a.Away() {
		if a.away == nil {
			return e, false
		}
		return Engine{Engine: a.away.Engine, Availability: bench.Availability{Version: a.away.Kernel}}, true
	}
	if a.Role == bench.Peer {
		if e, ok = l.engines[PeerEngine]; ok {
			return e, ok
		}
	}
	e, ok = l.engines[a.Platform.Driver()]
	return e, ok
}

// wire is the rate of the scene's wire in bit/s, 0 for one without a limit.
func (l *launcher) wire() (float64, error) {
	value, ok := l.scene.Conditions[bench.CondWire]
	if !ok {
		return 0, nil
	}
	return bench.ParseWire(value)
}

// launch starts an actor and waits until its agent has greeted and, of a start-up's subject,
// until the first command has ended. The error of one that is not up in time says the time.
func (l *launcher) launch(ctx context.Context, a *actor) error {
	e, ok := l.engine(a)
	a.outcome = bench.ActorOutcome{Actor: a.Name, Role: a.Role, Platform: a.Platform, CPUSet: a.CPUSet}
	if a.Away() {
		a.outcome.Host = a.Host
	}
	if !ok {
		if a.Away() {
			return fmt.Errorf("host %s is not connected: %w", a.Host, bench.ErrUnavailable)
		}
		return fmt.Errorf("platform is not open: %w", bench.ErrUnavailable)
	}
	a.outcome.Version, a.outcome.Label = cmp.Or(e.Chosen[a.Platform.String()], e.Version), e.Label
	if a.Role == bench.Peer && l.network != nil && !a.Away() {
		rate, err := l.wire()
		if err != nil {
			return err
		}
		if a.netns, a.addr, err = l.network.Peer(ctx, a.Name, rate); err != nil {
			return err
		}
	}
	limit := startDeadline
	if a.Platform.On != nil {
		limit = nestedDeadline
	}
	limit = cmp.Or(l.scene.Timing.Deadline, limit)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not up after %v", limit))
	defer cancel()
	options := bench.Variant(e.Options, a.Platform.DriverOptions())
	a.outcome.Caveats = e.CaveatsOf(options)
	var err error
	asked := bench.Launch{ID: a.id, Shape: a.Shape, CPUSet: a.CPUSet, Options: options, Dir: a.dir, NetNS: a.netns, Containment: a.around, Publish: a.publish}
	if a.Platform.Agentless() {
		if asked.Own = l.kernel; asked.Own == nil {
			return fmt.Errorf("no kernel is named for a machine without an agent: %w", bench.ErrInvalid)
		}
	}
	if a.instance, err = start(ctx, e, asked); err != nil {
		return inUse(err)
	}
	a.outcome.Launch = a.instance.Command()
	if asked.Own != nil {
		return l.serves(ctx, a)
	}
	if a.client, err = agent.Dial(ctx, a.instance.Stream()); err != nil {
		return unanswered(ctx, err)
	}
	a.client.Mark(a.id)
	if l.scene.Kind == bench.Startup && a.Role == bench.Subject {
		if err := a.firstCommand(ctx); err != nil {
			return err
		}
	}
	hello := a.client.Hello()
	a.outcome.CPUsSeen, a.outcome.Kernel = len(hello.CPUs), hello.Kernel
	return l.up(a, a.client.GreetedAt(), "the agent greeted")
}

// up keeps when an instance came up, by which event, and what it says of itself.
func (l *launcher) up(a *actor, at int64, event string) error {
	ready := at - a.instance.Launched()
	if ready <= 0 {
		what := fmt.Sprintf("ready: %s %d ns after the launch", event, ready)
		l.account.outcome.Refused = append(l.account.outcome.Refused, bench.Refusal{
			Actor: a.Name, Level: bench.Host, Meter: "clock", At: at, What: what})
		return fmt.Errorf("%s: the clock cannot be trusted", what)
	}
	if !a.Away() {
		l.cache.note(a.Platform)
	}
	a.outcome.ReadyMS = float64(ready) / 1e6
	a.outcome.Unenforced = slices.DeleteFunc(slices.Clone(a.instance.Unenforced()), func(limit string) bool {
		return limit == bench.DiskSize && !a.DiskAsked // a default that nobody counts on
	})
	if c, ok := a.instance.(bench.Cautioned); ok {
		label, caveats := c.Cautions()
		if label != "" {
			a.outcome.Label = strings.TrimPrefix(a.outcome.Label+", "+label, ", ")
		}
		a.outcome.Caveats = append(a.outcome.Caveats, caveats...)
	}
	if a.Role != bench.Peer {
		a.addr = a.instance.Addr()
	}
	if !a.reach.IsValid() {
		return nil
	}
	if a.addr != l.shared {
		return fmt.Errorf("%s has a network of its own, in which no further host finds it: %w%w", a.Platform, bench.ErrUnavailable,
			bench.Hint("further hosts load what has the network of the host, such as native or docker[net=host]; a peer on this host loads everything"))
	}
	a.addr = a.reach
	return nil
}

// end ends one actor before the others.
func (l *launcher) end(a *actor) error {
	return errors.Join(a.close(context.Background()), l.dirs.remove(l.account.outcome.Trial, a))
}

// firstCommand runs the first command right after the greeting.
func (a *actor) firstCommand(ctx context.Context) error {
	fail := func(err error) error { return fmt.Errorf("run the first command: %w", err) }
	p, err := a.client.Start(ctx, bench.Command{Argv: []string{"/bin/true"}, Timeout: answerDeadline, Bare: true}, nil)
	if err != nil {
		return fail(err)
	}
	out, err := p.Wait(ctx)
	done := clock.Now()
	if a.Injection != nil && a.Injection.Startup > 0 {
		done += int64(float64(done-a.instance.Launched()) * a.Injection.Startup)
		waitUntil(done)
		done = clock.Now()
	}
	if err == nil && out.Exit != 0 {
		err = fmt.Errorf("exit status %d", out.Exit)
	}
	if err != nil {
		return fail(err)
	}
	a.first = trace.Command{Requested: p.Requested(), Ended: p.Ended(), Returned: done}
	return nil
}

// waitUntil returns at the instant, or as soon after as the scheduler allows: a
// sleep alone would be late by a share of a short wait that matters.
func waitUntil(at int64) {
	const margin = int64(time.Millisecond)
	if left := at - clock.Now() - margin; left > 0 {
		time.Sleep(time.Duration(left))
	}
	for clock.Now() < at {
	}
}

// start has the engine start an instance. One that comes up after it was given up is
// closed again.
func start(ctx context.Context, e bench.Engine, l bench.Launch) (bench.Instance, error) {
	type started struct {
		instance bench.Instance
		err      error
	}
	up := make(chan started, 1)
	err := tool.Call(ctx, startGrace, func(ctx context.Context) error {
		i, err := e.Start(ctx, l)
		up <- started{i, err}
		return nil
	})
	if err != nil {
		go func() {
			if late := <-up; late.err == nil {
				_ = closeWithin(context.Background(), late.instance) // what it leaves is in the ledger
			}
		}()
		return nil, err
	}
	s := <-up
	return s.instance, s.err
}
