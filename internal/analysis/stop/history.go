package stop

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"tare/internal/analysis/stats"
	"tare/internal/bench"
	"tare/internal/bench/figure"
	"tare/internal/result"
)

// history is what a stopping rule may know of the cases that end together.
type history struct {
	name   string // of the case that the others are set against
	blocks int    // planned
	// whole is how many blocks, from the first, have a final outcome of every scene, and
	// reached the last that has any, by platform.
	whole, reached map[string]int
	baseline       string                         // "" if it has no part in them
	platforms      []string                       // the others, in the plan's order
	asks           map[string][]*comparison       // of a platform
	values, base   map[quantity]map[int][]float64 // by block; base also has the control's
}

// quantity is a metric of a scene, or of the baseline in a case.
type quantity struct{ of, metric string }

func newHistory(p *bench.Plan, f *ruling, last map[string]*bench.Outcome) *history {
	h := &history{name: f.cases[0], blocks: p.Blocks, whole: map[string]int{}, reached: map[string]int{}, asks: map[string][]*comparison{},
		values: map[quantity]map[int][]float64{}, base: map[quantity]map[int][]float64{}}
	scenes := map[string]*bench.Scene{}
	for _, sc := range f.scenes {
		scenes[sc.ID] = sc
		platform := sc.Platform.String()
		if _, seen := h.whole[platform]; seen || sc.Control { // a control counts with the baseline
			continue
		}
		h.whole[platform] = p.Blocks
		h.asks[platform] = comparisons(p, f, platform)
		if platform == p.Baseline {
			h.baseline = platform
		} else {
			h.platforms = append(h.platforms, platform)
		}
	}
	for _, t := range p.Trials {
		if sc := scenes[t.Scene]; sc != nil {
			h.add(sc, t, last[t.ID], p)
		}
	}
	return h
}

// add takes note of a trial's outcome, or that it has none. One that is not settled is to be run (again).
func (h *history) add(sc *bench.Scene, t bench.Trial, o *bench.Outcome, p *bench.Plan) {
	platform := sc.Platform.String()
	if sc.Control {
		platform = h.baseline
	}
	if o != nil {
		h.reached[platform] = max(h.reached[platform], t.Block)
	}
	if o == nil || !p.Settled(o) {
		h.whole[platform] = min(h.whole[platform], t.Block-1)
		return
	}
	if o.Status != bench.Done {
		return
	}
	decide := Deciding(p.Metrics[sc.Case])
	for _, v := range o.Values {
		if !slices.Contains(decide, v.Metric) {
			continue
		}
		put(h.values, quantity{sc.ID, v.Metric}, t.Block, v.Value)
		switch base := (quantity{sc.Case, v.Metric}); {
		case sc.Turns > 0: // the value is a ratio to the baseline already
			put(h.base, base, t.Block, 1)
		case platform == h.baseline:
			put(h.base, base, t.Block, v.Value)
		}
	}
}

func put(into map[quantity]map[int][]float64, q quantity, block int, value float64) {
	if into[q] == nil {
		into[q] = map[int][]float64{}
	}
	into[q][block] = append(into[q][block], value)
}

// ratios are those of the first blocks, nil where one cannot be made, such as of a zero.
func (h *history) ratios(c *comparison, blocks int) []float64 {
	base := h.base[quantity{c.of, c.metric}]
	if c.cell() {
		base = h.values[quantity{c.alone, c.metric}]
	}
	pairs, err := stats.PairedRatios(stats.Together(first(h.values[quantity{c.own, c.metric}], blocks)), stats.Together(first(base, blocks)))
	if err != nil {
		return nil
	}
	var ratios []float64
	for _, r := range pairs {
		ratios = append(ratios, r.Value)
	}
	return ratios
}

// answer asks the rule about a comparison. One of which no ratio can be made, or none was made in
// all the blocks of a look, ends without one: where every launch fails there is nothing to wait for.
func (h *history) answer(r *Rule, c *comparison, blocks int, known map[asked]Answer) Answer {
	question := asked{h.name + "/" + c.name, blocks}
	a, ok := known[question]
	if !ok {
		ratios := h.ratios(c, blocks)
		rule := *r
		rule.Family = c.family
		a = rule.Ask(ratios)
		a.Ends = a.Ends || len(ratios) == 0
		known[question] = a
	}
	return a
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
// the rule says of it now. The baseline ends with the last platform, and when its own cells do.
// Where there is none but the baseline, and nothing to ask of it, that goes on to the max.
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
		var on, undecided []string
		for _, platform := range open {
			a := h.ask(r, platform, blocks, known, &look)
			if !h.ends(platform, a.all, blocks, r) {
				on = append(on, platform)
				continue
			}
			s.Platforms[platform] = blocks
			ended, undecided = h.note(&s, blocks, platform, a, ended, undecided)
		}
		over := len(on) == 0
		if h.baseline != "" && (len(h.asks[h.baseline]) > 0 || len(h.platforms) == 0) {
			a := h.ask(r, h.baseline, blocks, known, &look)
			if over = over && h.ends(h.baseline, a.all, blocks, r); over {
				ended, undecided = h.note(&s, blocks, h.baseline, a, ended, undecided)
			}
		}
		s.Looks = append(s.Looks, look)
		if over {
			s.Ended, s.Blocks = true, blocks
			if blocks == r.Max && !s.Settled {
				ended = append(ended, h.mostAllowed(r, undecided))
			}
			s.Why = strings.Join(ended, "; ")
			return s
		}
		open = on
	}
	s.Settled, s.Blocks = false, h.ready(open)
	return s
}

// said is what the rule says of a platform at a look.
type said struct {
	all   bool     // nothing that is asked of it needs more blocks, and something is asked
	level float64  // the highest of its answers
	ends  []string // in words
	on    []string
}

// ask asks the rule about all that is compared of a platform.
func (h *history) ask(r *Rule, platform string, blocks int, known map[asked]Answer, look *result.Look) said {
	var out said
	for _, c := range h.asks[platform] {
		a := h.answer(r, c, blocks, known)
		if !math.IsNaN(a.Width) {
			look.Widths[c.name] = a.Width
		}
		if a.Verdict != "" {
			if look.Decided == nil {
				look.Decided = map[string]result.Verdict{}
			}
			look.Decided[c.name] = a.Verdict
		}
		out.level = max(out.level, a.Confidence)
		if a.Ends {
			out.ends = append(out.ends, a.say(c.name))
		} else {
			out.on = append(out.on, a.say(c.name))
		}
	}
	out.all = len(out.on) == 0 && len(out.ends) > 0
	return out
}

// ends says whether a platform of which that was said ends at a look.
func (h *history) ends(platform string, all bool, blocks int, r *Rule) bool {
	return h.reached[platform] <= blocks && (all || blocks >= r.Max)
}

// most is how many things are said one by one of a platform that ended.
const most = 3

// note puts down that a platform ended at a look, and says why.
func (h *history) note(s *result.Stop, blocks int, platform string, a said, ended, undecided []string) (_, _ []string) {
	s.Settled = s.Settled && a.all
	if !a.all {
		return ended, append(undecided, a.on...)
	}
	words := strings.Join(a.ends, ", ")
	if len(a.ends) > most {
		words = fmt.Sprintf("%s in all of %d comparisons", platform, len(a.ends))
	}
	if a.level > s.Confidence {
		if s.Levels == nil {
			s.Levels = map[string]float64{}
		}
		s.Levels[platform] = a.level
	}
	return append(ended, words+" after "+figure.Count(blocks, "block")), undecided
}

// of is what became of one of the cases. Of those that are set against another it is as of that.
func (h *history) of(name string, s result.Stop) result.Stop {
	s.Case, s.Platforms = name, maps.Clone(s.Platforms)
	if name != h.name {
		s.Why = "with " + h.name + ", which it is set against"
		if !s.Ended {
			s.Why = "goes on: " + s.Why
		}
	}
	return s
}

// mostAllowed says that a case ended at the last block of the rule.
func (h *history) mostAllowed(r *Rule, undecided []string) string {
	text := fmt.Sprintf("%s, the most allowed", figure.Count(r.Max, "block"))
	switch {
	case len(undecided) == 0 && len(h.platforms) > 0:
		return text + "; " + unasked
	case len(undecided) == 0:
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
			if len(h.asks[platform]) > 0 {
				open = append(open, platform)
			}
		}
	}
	s.Ended, s.Blocks, s.Settled = true, blocks, false
	why := fmt.Sprintf("the budget of %s is used up after %s", figure.Span(u.Budget.Seconds()), figure.Count(blocks, "block"))
	switch {
	case len(open) > 0:
		why += "; not decided: " + strings.Join(open, ", ")
	case !h.asked():
		why += "; " + unasked
	}
	before, _, _ := strings.Cut(s.Why, "goes on: ")
	s.Why = before + why
}

// unasked says of cases why no ratio ends them.
const unasked = "no ratio ends it, for it asks for none"

// asked reports whether the rule is asked anything.
func (h *history) asked() bool {
	for _, asks := range h.asks {
		if len(asks) > 0 {
			return true
		}
	}
	return false
}
