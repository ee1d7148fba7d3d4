package stop

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"tare/internal/analysis/effect"
	"tare/internal/analysis/stats"
	"tare/internal/bench"
	"tare/internal/bench/figure"
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
	x.spent += took(x.plan.Scene(o.Scene), o)
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
	var histories []*history
	seen := map[string]bool{}
	for i := range p.Scenes {
		if name := p.Scenes[i].Case; !seen[name] {
			seen[name] = true
			h := newHistory(p, name, outcomes.last)
			histories = append(histories, h)
			s := h.stop(&Rule{*p.Until, p.Margin, len(h.values)}, known)
			s.Case = name
			e.Cases = append(e.Cases, s)
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
			histories[k].cut(s, p.Until, b.blocksBefore(over, s.Case))
		}
	}
	return e
}

// Needs reports whether the trial does not lie beyond the end of its scene.
func (e *Ends) Needs(t bench.Trial) bool {
	end, ended := e.Of(e.plan.Scene(t.Scene))
	return !ended || t.Block <= end
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
		return level, e.plan.Blocks
	}
	return effect.Confidence, e.plan.Blocks
}

// history is what a stopping rule may know of a case.
type history struct {
	name   string // of the case
	blocks int    // planned
	// whole is how many blocks, from the first, have a final outcome, and
	// reached the last that has any, by platform.
	whole, reached map[string]int
	baseline       string                       // "" if it has no part in the case
	platforms      []string                     // the others, in the plan's order
	names          map[string][]string          // what is compared of each
	values         map[string]map[int]float64   // by block, by what is compared
	base           map[string]map[int][]float64 // by block, the baseline's and its control's by metric
	metric         map[string]string            // by what is compared
}

func newHistory(p *bench.Plan, name string, last map[string]*bench.Outcome) *history {
	h := &history{name: name, blocks: p.Blocks, whole: map[string]int{}, reached: map[string]int{}, names: map[string][]string{},
		values: map[string]map[int]float64{}, base: map[string]map[int][]float64{}, metric: map[string]string{}}
	metrics := deciding(p.Metrics[name])
	for i := range p.Scenes {
		sc := &p.Scenes[i]
		if sc.Case != name || sc.Control { // a control counts with the baseline
			continue
		}
		platform := sc.Platform.String()
		h.whole[platform] = p.Blocks
		if platform == p.Baseline {
			h.baseline = platform
			continue
		}
		h.platforms = append(h.platforms, platform)
		for _, m := range metrics {
			compared := widthName(sc, m, metrics)
			h.names[platform] = append(h.names[platform], compared)
			h.values[compared], h.metric[compared] = map[int]float64{}, m
		}
	}
	for _, m := range metrics {
		h.base[m] = map[int][]float64{}
	}
	for _, t := range p.Trials {
		if sc := p.Scene(t.Scene); sc.Case == name {
			h.add(sc, t, last[t.ID], metrics, p.Settled)
		}
	}
	return h
}

// add takes note of a trial's outcome, or that it has none. One that is not settled is to be run (again).
func (h *history) add(sc *bench.Scene, t bench.Trial, o *bench.Outcome, metrics []string, settled func(*bench.Outcome) bool) {
	platform := sc.Platform.String()
	if sc.Control {
		platform = h.baseline
	}
	if o != nil {
		h.reached[platform] = max(h.reached[platform], t.Block)
	}
	if o == nil || !settled(o) {
		h.whole[platform] = min(h.whole[platform], t.Block-1)
		return
	}
	for _, m := range metrics {
		for _, v := range o.Values {
			switch {
			case v.Metric != m || o.Status != bench.Done:
			case platform == h.baseline:
				h.base[m][t.Block] = append(h.base[m][t.Block], v.Value)
			default:
				h.values[widthName(sc, m, metrics)][t.Block] = v.Value
			}
		}
	}
}

// deciding names the headline metrics, or the first where there is none.
func deciding(metrics []bench.Metric) []string {
	var names []string
	for _, m := range metrics {
		if m.Headline {
			names = append(names, m.Name)
		}
	}
	if names == nil && len(metrics) > 0 {
		names = []string{metrics[0].Name}
	}
	return names
}

// widthName is the platform, with the metric where several decide.
func widthName(sc *bench.Scene, metric string, metrics []string) string {
	if len(metrics) == 1 {
		return sc.Platform.String()
	}
	return sc.Platform.String() + " " + metric
}

// ratios are the paired ratios of the platforms' first blocks. Where one cannot
// be made, such as of a zero, there are none: the platform goes on to the max.
func (h *history) ratios(platforms []string, blocks int) map[string][]float64 {
	all := map[string][]float64{}
	for _, platform := range platforms {
		for _, name := range h.names[platform] {
			all[name] = nil
			pairs, err := stats.PairedRatios(first(h.values[name], blocks), stats.Together(first(h.base[h.metric[name]], blocks)))
			if err != nil {
				continue
			}
			for _, r := range pairs {
				all[name] = append(all[name], r.Value)
			}
		}
	}
	return all
}

// first is what there is of so many blocks.
func first[V any](values map[int]V, blocks int) map[int]V {
	out := map[int]V{}
	for b, v := range values {
		if b <= blocks {
			out[b] = v
		}
	}
	return out
}

// ready is how many blocks, from the first, have a final outcome of each of the
// platforms and of the baseline.
func (h *history) ready(platforms []string) int {
	n := h.blocks
	for _, platform := range platforms {
		n = min(n, h.whole[platform])
	}
	if h.baseline != "" {
		n = min(n, h.whole[h.baseline])
	}
	return n
}

// stop asks the rule at each look for which every platform that goes on is
// ready. A platform that was run beyond a look was not ended there, whatever
// the rule says of it now. Where there is none but the baseline, that goes on
// to the max.
func (h *history) stop(r *Rule, known map[asked]Answer) result.Stop {
	s := result.Stop{Looks: []result.Look{}, Platforms: map[string]int{}, Settled: true, Confidence: r.levels().Usual}
	var ended []string // in words
	open := slices.Clone(h.platforms)
	for _, blocks := range r.Looks {
		s.Blocks = h.ready(open)
		if blocks > s.Blocks {
			s.Settled = false
			s.Why = strings.Join(append(ended, fmt.Sprintf("goes on: the next look is after %d blocks", blocks)), "; ")
			return s
		}
		look := result.Look{Blocks: blocks, Confidence: s.Confidence, Widths: map[string]float64{}}
		answers := h.answers(r, open, blocks, known)
		var on, undecided []string
		for _, platform := range open {
			all, level := true, 0.0
			var said []string
			for _, name := range h.names[platform] {
				a := answers[name]
				if !math.IsNaN(a.Width) {
					look.Widths[name] = a.Width
				}
				if a.Verdict != "" {
					if look.Decided == nil {
						look.Decided = map[string]result.Verdict{}
					}
					look.Decided[name] = a.Verdict
				}
				said, all, level = append(said, a.say(name)), all && a.Ends, max(level, a.Confidence)
			}
			switch {
			case h.reached[platform] > blocks, !all && blocks < r.Max:
				on = append(on, platform)
				continue
			case all:
				ended = append(ended, fmt.Sprintf("%s after %s", strings.Join(said, ", "), figure.Count(blocks, "block")))
				if level > s.Confidence {
					if s.Levels == nil {
						s.Levels = map[string]float64{}
					}
					s.Levels[platform] = level
				}
			default:
				undecided = append(undecided, said...)
			}
			s.Platforms[platform] = blocks
			s.Settled = s.Settled && all
		}
		s.Looks = append(s.Looks, look)
		if len(on) == 0 && (len(h.platforms) > 0 || blocks == r.Max && h.reached[h.baseline] <= blocks) {
			s.Ended, s.Blocks = true, blocks
			s.Settled = s.Settled && len(h.platforms) > 0
			if blocks == r.Max && !s.Settled {
				ended = append(ended, mostAllowed(r, undecided))
			}
			s.Why = strings.Join(ended, "; ")
			return s
		}
		open = on
	}
	s.Settled, s.Blocks = false, h.ready(open)
	return s
}

// answers asks the rule about every platform that goes on.
func (h *history) answers(r *Rule, platforms []string, blocks int, known map[asked]Answer) map[string]Answer {
	answers := map[string]Answer{}
	for name, ratios := range h.ratios(platforms, blocks) {
		question := asked{h.name + "/" + name, blocks}
		a, ok := known[question]
		if !ok {
			a = r.Ask(ratios)
			known[question] = a
		}
		answers[name] = a
	}
	return answers
}

// mostAllowed says that a case ended at the last block of the rule.
func mostAllowed(r *Rule, undecided []string) string {
	text := fmt.Sprintf("%s, the most allowed", figure.Count(r.Max, "block"))
	if len(undecided) == 0 {
		return text + "; nothing to compare"
	}
	return fmt.Sprintf("%s; neither decided nor within %s: %s", text, r.wanted(), strings.Join(undecided, ", "))
}

// cut ends a case at the blocks that the budget allowed.
func (h *history) cut(s *result.Stop, u *bench.Until, blocks int) {
	var open []string
	for _, platform := range h.platforms {
		if _, ended := s.Platforms[platform]; !ended {
			s.Platforms[platform] = blocks
			open = append(open, platform)
		}
	}
	s.Ended, s.Blocks, s.Settled = true, blocks, false
	why := fmt.Sprintf("the budget of %s is used up after %s", figure.Span(u.Budget.Seconds()), figure.Count(blocks, "block"))
	if len(open) > 0 {
		why += "; not decided: " + strings.Join(open, ", ")
	}
	before, _, _ := strings.Cut(s.Why, "goes on: ")
	s.Why = before + why
}
