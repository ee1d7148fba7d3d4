package stop

import (
	"fmt"
	"iter"
	"time"

	"tare/internal/analysis/effect"
	"tare/internal/bench"
	"tare/internal/result"
)

// Ends are where the rule ended the scenes of a plan, as far as outcomes tell.
// Without a rule it ended none.
type Ends struct {
	plan *bench.Plan
	// Cases are in the plan's order; nil without a rule.
	Cases []result.Stop
	// Over says that the budget is used up.
	Over bool
}

// Read replays the rule for every case from the outcomes stored so far and
// nothing else: the run under way, the one resumed and the report come to the
// same decisions.
func Read(p *bench.Plan, outcomes iter.Seq2[*bench.Outcome, error]) (*Ends, error) {
	if p.Until == nil {
		return Replay(p, nil), nil
	}
	all := NewOutcomes(p)
	for o, err := range outcomes {
		if err != nil {
			return nil, fmt.Errorf("replay the stopping rule: %w", err)
		}
		all.Add(o)
	}
	return Replay(p, all), nil
}

// Outcomes are what the rule may know of a run: of each trial the outcome that counts,
// and the time of all.
type Outcomes struct {
	plan  *bench.Plan
	last  map[string]*bench.Outcome // by trial
	spent time.Duration
}

// NewOutcomes has none yet.
func NewOutcomes(p *bench.Plan) *Outcomes {
	return &Outcomes{plan: p, last: map[string]*bench.Outcome{}}
}

// Add takes an outcome, in the order of the run. It keeps what a rule asks about.
func (x *Outcomes) Add(o *bench.Outcome) {
	x.last[o.Trial] = bench.Latest(x.last[o.Trial], &bench.Outcome{Trial: o.Trial, Block: o.Block, Scene: o.Scene, Status: o.Status,
		Disturbed: o.Disturbed, Repeat: o.Repeat, Phases: o.Phases, Values: o.Values})
	x.spent += Took(x.plan.Scene(o.Scene), o)
}

// Replay asks the rule about every case.
func Replay(p *bench.Plan, outcomes *Outcomes) *Ends {
	return replay(p, outcomes, map[asked]Answer{})
}

// asked is one question of the rule; the outcomes it is about do not change.
type asked struct {
	name   string // the case and what is compared
	blocks int
}

func replay(p *bench.Plan, outcomes *Outcomes, known map[asked]Answer) *Ends {
	e := &Ends{plan: p}
	if p.Until == nil {
		return e
	}
	histories := map[string]*history{} // by case
	stops := map[*history]result.Stop{}
	for _, f := range rulings(p) {
		h := newHistory(p, f, outcomes.last)
		for _, name := range f.cases {
			histories[name] = h
		}
		stops[h] = h.stop(&Rule{Until: *p.Until, Margin: p.Margin}, known)
	}
	seen := map[string]bool{}
	for i := range p.Scenes {
		if name := p.Scenes[i].Case; !seen[name] {
			seen[name] = true
			e.Cases = append(e.Cases, histories[name].of(name, stops[histories[name]]))
		}
	}
	b := &budget{Outcomes: outcomes, ends: e}
	over := b.over()
	if over < 0 {
		return e
	}
	e.Over = true
	for k := range e.Cases {
		if s := &e.Cases[k]; !s.Ended {
			histories[s.Case].cut(s, p.Until, b.blocksBefore(over, s.Case))
		}
	}
	return e
}

// Needs reports whether the trial does not lie beyond the end of its scene.
func (e *Ends) Needs(t bench.Trial) bool {
	end, ended := e.Of(e.plan.Scene(t.Scene))
	return !ended || t.Block <= end
}

// Asked reports whether the rule has asked for the trial, as far as outcomes tell: it does not lie
// beyond the end of its scene, nor beyond the look that its case goes on to.
func (e *Ends) Asked(t bench.Trial) bool {
	scene := e.plan.Scene(t.Scene)
	if end, ended := e.Of(scene); ended {
		return t.Block <= end
	}
	for _, s := range e.Cases {
		if looks := e.plan.Until.Looks; s.Case == scene.Case && len(s.Looks) < len(looks) {
			return t.Block <= looks[len(s.Looks)]
		}
	}
	return true
}

// Of returns the blocks at which the rule ended a scene, if it did. The
// baseline and its control end with the last platform that is compared with it.
func (e *Ends) Of(scene *bench.Scene) (blocks int, ended bool) {
	for _, s := range e.Cases {
		if s.Case != scene.Case {
			continue
		}
		if scene.Control || scene.Platform.String() == e.plan.Baseline {
			return s.Blocks, s.Ended
		}
		blocks, ended = s.Platforms[scene.Platform.String()]
	}
	return blocks, ended
}

// Level returns the confidence at which a platform's intervals in a case are
// made, and how many blocks it has if it is complete.
func (e *Ends) Level(name, platform string) (level float64, blocks int) {
	for _, s := range e.Cases {
		if s.Case != name {
			continue
		}
		level, ok := s.Levels[platform]
		if !ok {
			level = s.Confidence
		}
		if end, ended := s.Platforms[platform]; ended {
			return level, end
		}
		if s.Ended { // the baseline's control
			return level, s.Blocks
		}
		return level, e.plan.Blocks
	}
	return effect.Confidence, e.plan.Blocks
}
