package plan

import (
	"fmt"
	"time"

	"tare/internal/bench"
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

// What an instance costs in time besides its workload, from launch to close.
// These are guesses for people who wait, medians of some hundred launches each on a
// host of 2 CPUs; nothing but the estimate depends on them.
const (
	emulatedCost = 10 * time.Second
	nestedCost   = 40 * time.Second
	deepCost     = 80 * time.Second // three platforms deep
	unknownCost  = time.Second      // nothing was measured of it

	migrationCost = 5 * time.Second
	trialCost     = 200 * time.Millisecond // directories, outcomes
	prepareCost   = 300 * time.Millisecond // placing files, comparing clocks, starting and ending programs
	openCost      = 2 * time.Second        // once for each platform: a daemon, an image
)

var launchCost = map[string]time.Duration{
	"native":     100 * time.Millisecond,
	"bwrap":      200 * time.Millisecond,
	"runc":       200 * time.Millisecond,
	"crun":       200 * time.Millisecond,
	"lxc":        200 * time.Millisecond,
	"nspawn":     300 * time.Millisecond,
	"containerd": 300 * time.Millisecond,
	"gvisor":     300 * time.Millisecond,
	"podman":     400 * time.Millisecond,
	"docker":     600 * time.Millisecond,
	"incus":      900 * time.Millisecond,
	"uml":        2 * time.Second,
	"kvm":        4 * time.Second, // not measured here
}

// trialCost estimates a trial of the scene, of which its subjects work so long.
// Actors start one after the other.
func (m *maker) trialCost(s bench.Scene, work time.Duration) time.Duration {
	total := trialCost + s.Timing.Cooldown
	for _, a := range s.Actors {
		cost, known := launchCost[a.Platform.Driver()]
		switch {
		case a.Platform.On != nil:
			cost = nestedCost
			if a.Platform.On.On != nil {
				cost = deepCost
			}
		case m.Available[a.Platform.Driver()].Label != "":
			cost = emulatedCost
		case !known:
			cost = unknownCost
		}
		total += cost
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
	total += float64(len(m.plan.Rests())) * (m.plan.Rest + bench.RestSettle).Seconds()
	m.plan.Estimate = total + openCost.Seconds()*float64(len(opened))
	if limit := e.MaxTime.Seconds(); limit > 0 && m.plan.Estimate > limit {
		needed, least := "about %s are needed", LeastEstimate(m.plan)
		if m.plan.Until != nil && least <= limit {
			needed = "up to %s may be needed"
		}
		m.plan.Warnings = append(m.plan.Warnings, fmt.Sprintf(needed+", more than max_time allows (%s): later blocks will be missing",
			Duration(m.plan.Estimate), e.MaxTime))
	}
}

// LeastEstimate is how many seconds the plan takes if every case ends at the
// stopping rule's first look; without a rule it is the plan's estimate.
func LeastEstimate(p *bench.Plan) float64 {
	least := p.Estimate
	if p.Until != nil {
		for _, s := range p.Scenes {
			least -= s.Estimate * float64(p.Blocks-p.Until.Min)
		}
	}
	return least
}

// Duration writes seconds for people: 45 s, 6 min 20 s, 2 h 5 min.
func Duration(s float64) string {
	n := int(s + 0.5)
	switch {
	case n < 60:
		return fmt.Sprintf("%d s", n)
	case n < 3600:
		return fmt.Sprintf("%d min %d s", n/60, n%60)
	}
	return fmt.Sprintf("%d h %d min", n/3600, n%3600/60)
}
