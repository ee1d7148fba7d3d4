package run

import (
	"context"
	"fmt"
	"time"

	"tare/internal/bench"
	"tare/internal/clock"
	"tare/internal/trace"
)

// firstCommand runs the first command right after the greeting.
func (x *trial) firstCommand(ctx context.Context, a *actor) error {
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

// startup takes what the launches of the subjects were measured by, once they
// are over, and puts their traces together.
func (x *trial) startup(ctx context.Context) error {
	x.atEdge()
	x.enter("collect")
	subjects := x.withRole(bench.Subject)
	for _, a := range subjects {
		a.outcome.Values = []bench.Value{
			{Metric: "ready", Value: a.outcome.ReadyMS},
			{Metric: "first_command", Value: float64(a.first.Returned-a.instance.Launched()) / 1e6},
		}
		x.outcome.Window = [2]int64{a.instance.Launched(), a.first.Returned}
	}
	var err error
	if x.outcome.Values, err = combine(bench.StartupMetrics, subjects); err != nil {
		return fmt.Errorf("start-ups of the subjects together: %w", err)
	}
	if err := x.describeScopes(); err != nil {
		return err
	}
	execs := x.executions()
	for _, a := range subjects {
		x.takeFacts(ctx, a)
		a.takeHostFacts()
		x.noteDropped(a)
		if a.outcome.StartUp, err = a.trace(ctx, trace.Find(execs, x.AgentPath, a.instance.Launched(), a.client.GreetedAt())); err != nil {
			x.warn("the phases of the launch of %s are not known: %v", a.Name, err)
		}
	}
	return nil
}

// listen has the kernel report what is executed from here on, where it does that
// for us; without its report a phase ends a little later, as its source says.
func (x *trial) listen() {
	if x.scene.Kind == bench.Startup {
		x.events, _ = trace.Listen()
	}
}

// executions are those reported since listen.
func (x *trial) executions() []trace.Exec {
	if x.events == nil {
		return nil
	}
	execs, err := x.events.Read()
	if err != nil {
		return nil // some may be missing: none is better than a wrong one
	}
	return execs
}

// trace puts the stamps of the actor's launch together, with what the kernel
// told of programs executed. The clock inside is compared with the
// host's now: a launch is too short for it to drift.
func (a *actor) trace(ctx context.Context, found trace.Found) (*bench.StartUp, error) {
	if err := a.probe(ctx, "collect", tripsAround); err != nil {
		return nil, err
	}
	return trace.Of(a.instance, a.client, *a.outcome.Scope, a.outcome.Facts, a.clock.probes[len(a.clock.probes)-1], found, a.first)
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
