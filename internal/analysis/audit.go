package analysis

import (
	"slices"

	"tare/internal/analysis/audit"
	"tare/internal/analysis/usage"
	"tare/internal/bench"
	"tare/internal/host"
	"tare/internal/result/store"
)

// auditor asks whether the launches of two scenes of a run may be compared.
type auditor struct {
	header store.Header
	host   *host.Facts
	plan   *bench.Plan
}

// compare audits launches against those of the baseline; nil if one of them has none.
func (a *auditor) compare(subject, baseline *launches, resource string) *audit.Audit {
	if baseline == nil || len(subject.done) == 0 || len(baseline.done) == 0 {
		return nil
	}
	found := audit.Compare(a.side(subject, resource), a.side(baseline, resource))
	found.Study(a.plan.Studies)
	return &found
}

// side gathers what an audit needs to know of launches.
func (a *auditor) side(l *launches, resource string) audit.Side {
	sc := l.scene
	side := audit.Side{Platform: l.platform, Resource: resource, Startup: !sc.Kind.Sampled(),
		Image: a.header.Image, Programs: a.header.Programs, Host: a.host}
	for _, actor := range sc.Actors {
		if actor.Role.OfSubject() && (sc.Ramp == nil || len(side.Subjects) == 0) { // a ramp is all alike
			side.Subjects = append(side.Subjects, actor)
		}
	}
	for _, o := range l.done {
		x := audit.Launch{Trial: o.Trial, Block: o.Block, Outside: o.Outside}
		x.Actors = slices.DeleteFunc(slices.Clone(o.Actors), func(a bench.ActorOutcome) bool { return !a.Role.OfSubject() })
		if o.Density != nil && len(x.Actors) > 0 {
			x.Actors = x.Actors[:1] // the only one whose facts were taken
			x.Load = densityLoad(o.Density)
		} else if u := l.usage[o.Trial]; u != nil {
			x.Load, x.Steal = u.Load(), u.StealCPU.Pointer()
			x.SwappedOut = u.Counters(usage.HostProc).Growth(bench.ColSwapUsed)
		}
		side.Launches = append(side.Launches, x)
	}
	return side
}

// changed audits launches against those that they are set against: what holds no
// longer between the two although nobody asked for it; nil if one has no launch.
func (a *auditor) changed(l *launches) *audit.Audit {
	found := a.compare(l, l.alone, resourceOf(a.plan, l.scene))
	if found != nil {
		found.Surroundings(l.scene, l.alone.scene)
	}
	return found
}
