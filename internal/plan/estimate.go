package plan

import (
	"cmp"
	"fmt"
	"time"

	"tare/internal/bench"
	"tare/internal/bench/figure"
	"tare/internal/spec"
)

// Estimator is a workload that knows that a trial of it takes something else
// than warm-up plus measurement: it lays out a file first, or runs until it is
// through, whatever the timing says.
type Estimator interface {
	// Estimate is the time from the first preparing command to the end of the
	// measured one.
	Estimate(p bench.Params, s bench.Setting) time.Duration
}

// What a launch and a trial cost in time besides the workload, where nothing was measured. These
// are guesses for people who wait; nothing but the estimate depends on them.
const (
	launchCost    = time.Second
	migrationCost = 5 * time.Second
	trialCost     = 200 * time.Millisecond // directories, outcomes
	prepareCost   = 300 * time.Millisecond // placing files, comparing clocks, starting and ending programs
	openCost      = 2 * time.Second        // once for each platform: a daemon, an image
)

// trialCost estimates a trial of the scene, of which its subjects work so long.
// Actors start one after the other.
func (m *maker) trialCost(s bench.Scene, work time.Duration) time.Duration {
	total := trialCost + s.Timing.Cooldown
	for _, a := range s.Actors {
		total += cmp.Or(m.Launches[a.Platform.Driver()], launchCost)
	}
	if s.Kind == bench.Startup {
		return total
	}
	total += prepareCost
	if s.Kind.Moves() { // whatever runs is ended when the move is over
		return total + s.Timing.Warmup + migrationCost
	}
	if s.Ramp != nil {
		steps := (s.Ramp.To + s.Ramp.Step - 1) / s.Ramp.Step
		return total + (s.Timing.Warmup+s.Timing.Measure)*time.Duration(steps)
	}
	if s.Turns > 0 { // both sides prepare, one after the other
		total += work - s.Timing.Warmup - s.Timing.Measure
	}
	return total + work
}

// estimate fills in the plan's duration and warns where it is above the limit.
func (m *maker) estimate(e *spec.Experiment) {
	opened := map[string]bool{}
	var total float64
	for _, s := range m.plan.Scenes {
		total += s.Estimate * float64(e.Blocks)
		for _, a := range s.Actors {
			opened[a.Platform.Driver()] = true
		}
	}
	total += float64(len(m.plan.Idles())) * (m.plan.Idle + bench.IdleSettle).Seconds()
	total += openCost.Seconds() * float64(len(opened))
	m.plan.Estimate = total
	if u := m.plan.Until; u != nil && u.Budget > 0 {
		least := LeastEstimate(m.plan)
		m.plan.Estimate = max(least, min(total, u.Budget.Seconds()))
		if least > u.Budget.Seconds() {
			m.plan.Warnings = append(m.plan.Warnings, fmt.Sprintf("about %s are needed for %s each, more than the budget of %s: they are run nevertheless",
				figure.Span(least), figure.Count(u.Min, "block"), figure.Span(u.Budget.Seconds())))
		}
	}
	if limit := e.MaxTime.Seconds(); limit > 0 && m.plan.Estimate > limit {
		needed, least := "about %s are needed", LeastEstimate(m.plan)
		if m.plan.Until != nil && least <= limit {
			needed = "up to %s may be needed"
		}
		m.plan.Warnings = append(m.plan.Warnings, fmt.Sprintf(needed+", more than max_time allows (%s): later blocks will be missing",
			figure.Span(m.plan.Estimate), e.MaxTime))
	}
}

// LeastEstimate is how many seconds the plan takes if every case ends at the
// stopping rule's first look; without a rule it is the plan's estimate.
func LeastEstimate(p *bench.Plan) float64 {
	if p.Until == nil {
		return p.Estimate
	}
	opened := map[string]bool{}
	least := 0.0
	for _, s := range p.Scenes {
		least += s.Estimate * float64(p.Until.Min)
		for _, a := range s.Actors {
			opened[a.Platform.Driver()] = true
		}
	}
	rests := 0
	for _, t := range p.Idles() {
		if t.Block <= p.Until.Min {
			rests++
		}
	}
	return least + float64(rests)*(p.Idle+bench.IdleSettle).Seconds() + openCost.Seconds()*float64(len(opened))
}

// MostEstimate is how many seconds the plan takes if other work on the host disturbs every launch,
// so that each is repeated as often as is allowed. A budget holds for the repeats, too.
func MostEstimate(p *bench.Plan) float64 {
	if p.Disturbed == nil || p.Disturbed.Repeats == 0 {
		return p.Estimate
	}
	all, least := 0.0, 0.0
	for _, t := range p.Trials {
		s := p.Scene(t.Scene)
		if s == nil {
			continue
		}
		again := s.Estimate * float64(p.Disturbed.Repeats)
		all += again
		if p.Until != nil && t.Block <= p.Until.Min {
			least += again
		}
	}
	if p.Until != nil && p.Until.Budget > 0 {
		return min(p.Estimate+all, max(p.Until.Budget.Seconds(), LeastEstimate(p)+least))
	}
	return p.Estimate + all
}
