package run

import (
	"context"
	"fmt"
	"strconv"

	"tare/internal/bench"
	"tare/internal/run/trace"
)

// startUp measures the launches of subjects by their traces.
type startUp struct {
	cold      bool // the page cache was emptied
	agentPath string
	account   *account
	actors    cast
	jobs      *jobs
	observer  *observer
	events    *trace.Execs // nil where the kernel reports nothing, or is not asked
}

// listen has the kernel report what is executed from here on, where it does that
// for us; without its report a phase ends a little later, as its source says.
func (u *startUp) listen() { u.events, _ = trace.Listen() }

// close ends the report.
func (u *startUp) close() error {
	if u.events == nil {
		return nil
	}
	return u.events.Close()
}

// collect takes what the launches of the subjects were measured by, once they
// are over, and puts their traces together.
func (u *startUp) collect(ctx context.Context) error {
	u.observer.power.atEdge()
	u.account.enter("collect")
	o, subjects := &u.account.outcome, u.actors.with(bench.Subject)
	for _, a := range subjects {
		a.outcome.Values = a.startTimes()
		o.Window = [2]int64{a.instance.Launched(), a.instance.Launched() + a.startTook()}
	}
	var err error
	if o.Values, err = combine(bench.StartupMetrics, subjects); err != nil {
		return fmt.Errorf("start-ups of the subjects together: %w", err)
	}
	if err := u.observer.daemons.describe(u.actors...); err != nil {
		return err
	}
	execs := u.executions()
	for _, a := range subjects {
		u.jobs.takeFacts(ctx, a)
		takeHostFacts(a)
		if d := a.dropped; u.cold && d.Before >= 0 {
			a.outcome.Facts[bench.FactCacheDropped] = strconv.FormatInt(d.Before-d.Kept, 10)
			a.outcome.Facts[bench.FactCacheKept] = strconv.FormatInt(d.Kept, 10)
		}
		if a.Platform.Agentless() {
			continue // nothing inside tells of phases
		}
		if a.outcome.StartUp, err = u.trace(ctx, a, trace.Find(execs, u.agentPath, a.instance.Launched(), a.client.GreetedAt())); err != nil {
			u.account.warn("the phases of the launch of %s are not known: %v", a.Name, err)
		}
	}
	return nil
}

// executions are those reported since listen.
func (u *startUp) executions() []trace.Exec {
	if u.events == nil {
		return nil
	}
	events, err := u.events.Read()
	if err != nil {
		return nil // some may be missing: none is better than a wrong one
	}
	return events.Execs
}

// startTimes are the two times of a start-up, in milliseconds. Where nothing runs a command inside it is one.
func (a *actor) startTimes() []bench.Value {
	times := []bench.Value{{Metric: "time_to_ready", Value: a.outcome.ReadyMS}}
	if a.Platform.Agentless() {
		return times
	}
	return append(times, bench.Value{Metric: "time_to_first_command", Value: float64(a.startTook()) / 1e6})
}

// startTook is how long a start-up took as a whole, in nanoseconds.
func (a *actor) startTook() int64 {
	if a.Platform.Agentless() {
		return int64(a.outcome.ReadyMS * 1e6)
	}
	return a.first.Returned - a.instance.Launched()
}

// trace puts the stamps of the actor's launch together, with what the kernel
// told of programs executed. The clock inside is compared with the
// host's now: a launch is too short for it to drift.
func (u *startUp) trace(ctx context.Context, a *actor, found trace.Found) (*bench.StartUp, error) {
	if err := a.probe(ctx, "collect", tripsAround); err != nil {
		return nil, err
	}
	return trace.Of(a.instance, a.client, *a.outcome.Scope, a.outcome.Facts, a.clock.probes[len(a.clock.probes)-1], found, a.first)
}
