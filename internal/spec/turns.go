package spec

import (
	"maps"
	"time"

	"tare/internal/bench"
)

// besideTurns are the keys that a scene in turns cannot have: they would change what both sides
// share, or the scene measures something else than the work of one subject.
var besideTurns = []string{"startup", "cache", "migrate", "ramp", "memory_pool", "actors", "alike", "members", "beside", "idle", "relative"}

// turns adds the partner of a scene in turns, which does the subject's work on the baseline.
func (d *decoder) turns(f map[string]*node, s *Scene, e *Experiment) {
	n := f["turns"]
	if n == nil {
		return
	}
	before := len(d.errs)
	d.duration(n, bench.LeastTurn, &s.Turns)
	if s.Turns > bench.MostTurn {
		d.fail(n.place, "turns of %s are too long: at most %s", s.Turns, bench.MostTurn)
	}
	for _, key := range besideTurns {
		if f[key] != nil {
			d.fail(f[key].place, "%s has no meaning in a scene in turns%w", key, bench.Hint("one subject and its partner share everything: give another scene the key"))
		}
	}
	if len(d.errs) > before || len(s.Actors) != 1 || s.Actors[0].Workload == "" {
		return // reported already
	}
	subject := s.Actors[0]
	counter, ok := d.words.Workload(subject.Workload).(bench.Counter)
	if !ok {
		d.fail(subject.Places.At("workload"), "%s does not count its work, and cannot take turns%w", subject.Workload, bench.Hint("take away turns, or take one of: "+d.counters()))
		return
	}
	if err := counter.Countless(subject.Params); err != nil {
		d.errs = append(d.errs, subject.Places.Blame(err, "workload"))
		return
	}
	d.pairs(n, s)
	partner := subject
	partner.Name, partner.Role, partner.Placement = "partner", bench.Partner, Shared
	partner.Platform, partner.Places = &e.Baseline, maps.Clone(subject.Places)
	s.Actors = append(s.Actors, partner)
}

// pairs refuses a window without enough whole pairs of turns: where in a turn the window begins must
// not matter.
func (d *decoder) pairs(n *node, s *Scene) {
	at := n.place
	if p, said := s.Places["timing.measure"]; said {
		at = p
	}
	least := max(bench.LeastTurns*s.Turns, time.Second)
	if s.Timing.Measure < least || s.Timing.Measure%(2*s.Turns) != 0 {
		d.fail(at, "measure %s is no window for turns of %s%w", s.Timing.Measure, s.Turns,
			bench.Hint("both sides have as many: a multiple of "+(2*s.Turns).String()+", at least "+least.String()))
	}
}

// counters names the workloads that can take turns.
func (d *decoder) counters() string {
	names := ""
	for _, w := range d.words.Workloads {
		if _, ok := w.(bench.Counter); ok {
			if names != "" {
				names += ", "
			}
			names += w.Name()
		}
	}
	return names
}
