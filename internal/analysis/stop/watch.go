package stop

import (
	"iter"
	"slices"

	"tare/internal/bench"
)

// Watch follows a run by its outcomes and answers what of it is still needed. It
// knows nothing else, so a run that was killed and resumed hears the same.
type Watch struct {
	plan  *bench.Plan
	all   *Outcomes
	known map[asked]Answer
	ends  *Ends // nil after an outcome
}

// NewWatch begins a watch; nil for a plan without a rule.
func NewWatch(p *bench.Plan) *Watch {
	if p.Until == nil {
		return nil
	}
	return &Watch{plan: p, all: NewOutcomes(p), known: map[asked]Answer{}}
}

// Learn takes note of an outcome.
func (w *Watch) Learn(o *bench.Outcome) {
	w.all.Add(o)
	w.ends = nil
}

func (w *Watch) replayed() *Ends {
	if w.ends == nil {
		w.ends = replay(w.plan, w.all, w.known)
	}
	return w.ends
}

// Enough reports whether a scene needs no blocks beyond this one, which is at its end.
func (w *Watch) Enough(scene string, block int) bool {
	if !slices.Contains(w.plan.Until.Looks, block) {
		return false
	}
	end, ended := w.replayed().Of(w.plan.Scene(scene))
	return ended && end <= block
}

// Over reports whether the budget is used up before the trial at a place in the
// plan, with which a family of scenes begins.
func (w *Watch) Over(place int) bool {
	if w.plan.Until.Budget <= 0 || place > 0 && familyEnd(w.plan, place-1) != place {
		return false
	}
	return w.replayed().Over
}

// Left counts the trials that are still to be run as far as is known: those the
// rule makes unnecessary later are among them. A trial that was aborted is one, and so is
// one that is to be repeated for other work that disturbed it.
func Left(p *bench.Plan, outcomes func() iter.Seq2[*bench.Outcome, error]) (int, error) {
	ends, err := Read(p, outcomes())
	if err != nil {
		return 0, err
	}
	finished := map[string]bool{}
	for o, err := range outcomes() {
		if err != nil {
			return 0, err
		}
		finished[o.Trial] = finished[o.Trial] || p.Settled(o)
	}
	n := 0
	for _, t := range p.Trials {
		if !finished[t.ID] && ends.Needs(t) {
			n++
		}
	}
	return n, nil
}
