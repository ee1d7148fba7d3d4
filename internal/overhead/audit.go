package overhead

import (
	"slices"

	"tare/internal/audit"
	"tare/internal/bench"
	"tare/internal/usage"
)

// Options of an analysis.
type Options struct {
	// AllowUnfair gives the ratio of a comparison that the audit found invalid;
	// it wears the reason in its words.
	AllowUnfair bool
	// Repeat is the command line that measures the run's experiment anew; empty for
	// that of an experiment that tare run can be given.
	Repeat []string
}

// audit compares the launches of two scenes; nil if one of them has none.
func (s *study) audit(subject, baseline *bench.Scene, resource string, observed *observed) *audit.Audit {
	if baseline == nil || len(s.done(subject.ID)) == 0 || len(s.done(baseline.ID)) == 0 {
		return nil
	}
	a := audit.Compare(s.side(subject, resource, observed), s.side(baseline, resource, observed))
	a.Study(s.plan.Studies)
	return &a
}

// side gathers what an audit needs to know of a scene.
func (s *study) side(sc *bench.Scene, resource string, observed *observed) audit.Side {
	h := s.run.Header()
	side := audit.Side{Platform: sc.Platform.String(), Resource: resource, Startup: !sc.Kind.Sampled(),
		Image: h.Image, Programs: h.Programs, Host: s.run.Host()}
	for _, a := range sc.Actors {
		if a.Role == bench.Subject && (sc.Ramp == nil || len(side.Subjects) == 0) { // a crowd is all alike
			side.Subjects = append(side.Subjects, a)
		}
	}
	for _, o := range s.done(sc.ID) {
		l := audit.Launch{Trial: o.Trial, Block: o.Block}
		l.Actors = slices.DeleteFunc(slices.Clone(o.Actors), func(a bench.ActorOutcome) bool { return a.Role != bench.Subject })
		if o.Crowd != nil && len(l.Actors) > 0 {
			l.Actors = l.Actors[:1] // the only one whose facts were taken
			l.Load = crowdLoad(o.Crowd)
		} else if share := observed.trials[o.Trial]; share != nil {
			l.Load, l.Steal = share.Load(), share.StealCPU.Pointer()
			l.SwappedOut = share.Track(usage.HostProc).Growth(bench.ColSwapUsed)
		}
		side.Launches = append(side.Launches, l)
	}
	return side
}
