package run

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"tare/internal/bench"
	"tare/internal/guest/agent"
	"tare/internal/host/proc"
)

// How an instance's clock is compared with the host's. What is done during the
// measurement is little beside the sampling.
const (
	tripsAround = 8 // round trips of a burst before and after the measurement
	tripsDuring = 4 // at most
	duringPhase = "measure"
	// burstEvery is the longest between bursts of one measurement, which has one
	// when its window opens and one in its middle at least.
	burstEvery = 5 * time.Second
	// A burst during the measurement ends with the first trip that is known
	// within goodEnough: the next would disturb more than it tells.
	goodEnough = 100 * time.Microsecond
	// A burst that leaves the clock known worse than closeEnough is made again,
	// repeats times at most, after a pause in which the machine may do what kept it.
	closeEnough = 250 * time.Microsecond
	repeats     = 2
	repeatPause = 20 * time.Millisecond

	// sharedKernelBound and ownKernelBound are how well the clock of an instance
	// has to be known; worse earns the trial a warning.
	sharedKernelBound = time.Millisecond
	ownKernelBound    = 5 * time.Millisecond
)

// comparison is what is known of one actor's clock.
type comparison struct {
	mu     sync.Mutex
	probes []bench.ClockProbe
	failed error // the clock could not be read after the measurement
}

// probe compares the actor's clock with the host's by a burst, or the best of several.
// An agent that does not answer in time is an error.
func (a *actor) probe(ctx context.Context, phase string, trips int) error {
	ctx, cancel := context.WithTimeout(ctx, answerDeadline)
	defer cancel()
	enough := int64(0)
	if phase == duringPhase {
		enough = int64(goodEnough)
	}
	best, err := a.client.ProbeUntil(ctx, trips, enough)
	for n := 0; err == nil && n < repeats && best.Uncertainty > int64(closeEnough); n++ {
		select {
		case <-time.After(repeatPause):
		case <-ctx.Done():
		}
		if o, again := a.client.ProbeUntil(ctx, trips, enough); again == nil && o.Uncertainty < best.Uncertainty {
			best = o
		}
	}
	if err != nil {
		return fmt.Errorf("compare the clock of %s: %w", a.Name, err)
	}
	a.clock.mu.Lock()
	defer a.clock.mu.Unlock()
	a.clock.probes = append(a.clock.probes, bench.ClockProbe{Phase: phase, At: best.At, Offset: best.Offset, Uncertainty: best.Uncertainty})
	return nil
}

// probeDuring compares every actor's clock once the window is open, and on
// until ctx ends, twice within the measured time at least. It keeps clear of the
// reading at the window's edge.
func (c cast) probeDuring(ctx context.Context, opened <-chan struct{}, measuring time.Duration) {
	select {
	case <-opened:
	case <-ctx.Done():
		return
	}
	every := burstEvery
	if half := measuring / 2; half > 0 {
		every = min(every, half)
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		for _, a := range c {
			if a.mute() || a.contained != nil {
				continue
			}
			_ = a.probe(ctx, duringPhase, tripsDuring) // an instance too busy to answer is known by its other bursts
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// probeAfter compares every actor's clock a last time, also where a containment's time
// is over by now.
func (c cast) probeAfter(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	for _, a := range c {
		if a.mute() || a.contained != nil { // one that was killed cannot be asked
			continue
		}
		a.clock.failed = a.probe(ctx, "collect", tripsAround)
	}
}

// settle fits every actor's clock, puts the samples taken inside on the host's
// time line and takes out what cannot be true. The wire carries so many bytes per
// second and direction; 0 if that is not known.
func settle(k *account, actors cast, readings []reading, wire float64) {
	cpus, memory := onlineCPUs(), hostMemory()
	limit := map[string]limits{"": {cpus: cpus, memory: memory}}
	for _, a := range actors {
		if a.contained != nil {
			continue // it was not asked again
		}
		if len(a.clock.probes) == 0 {
			if a.instance != nil && (a.client != nil || a.Platform.Agentless()) { // nothing is asked inside of one that is mute
				limit[a.Name] = limits{launched: a.instance.Launched(), cpus: cpus, memory: memory}
			}
			continue // it was never up
		}
		fit := agent.FitClock(a.clock.probes)
		if a.clock.failed != nil && fit.Fault == "" {
			fit.Fault = "it was not known after the measurement: " + a.clock.failed.Error()
		}
		a.outcome.Clock = &fit
		a.outcome.ClockOffset, a.outcome.ClockUncertainty = fit.Offset, fit.Uncertainty
		own := a.outcome.Scope != nil && a.outcome.Scope.OwnKernel
		warnOfClock(k, a.Name, &fit, own)
		if own {
			own = a.outcome.Scope.Innermost().OwnKernel // whose counters the agent's are
		}
		limit[a.Name] = limits{
			launched: a.instance.Launched(), clock: &fit, cpus: cpus, inside: a.outcome.CPUsSeen,
			ownKernel: own, wire: wire, memory: memory,
		}
		if a.away != nil { // its counters are those of all of its host
			limit[a.Name] = limits{launched: a.instance.Launched(), clock: &fit, cpus: a.away.CPUs, ownKernel: own}
		}
	}
	var refused []bench.Refusal
	k.samples, refused = refuse(readings, limit)
	k.outcome.Refused = append(k.outcome.Refused, refused...)
}

// warnOfClock warns of a clock at fault, and of one that is not known well enough.
func warnOfClock(k *account, name string, fit *bench.ClockFit, ownKernel bool) {
	bound := sharedKernelBound
	if ownKernel {
		bound = ownKernelBound
	}
	switch {
	case fit.Fault != "":
		k.warn("the clock of %s cannot be trusted: %s", name, fit.Fault)
	case fit.Uncertainty > int64(bound):
		k.warn("the clock of %s is known to %.2f ms only, worse than %v", name, float64(fit.Uncertainty)/1e6, bound)
	}
}

// onlineCPUs is how many CPUs the host has, whichever of them this process may
// use; 0 if that cannot be read.
func onlineCPUs() int {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	c, err := proc.ParseStat(b)
	if err != nil {
		return 0
	}
	return c.CPUs
}

// hostMemory is the memory of the host with its swap space, in bytes; 0 if that cannot be read.
func hostMemory() float64 {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	m, err := proc.ParseMeminfo(b)
	if err != nil {
		return 0
	}
	return m.Total + m.SwapTotal
}
