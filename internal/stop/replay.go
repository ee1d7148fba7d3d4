package stop

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"tare/internal/bench"
	"tare/internal/effect"
	"tare/internal/result"
	"tare/internal/stats"
)

// Ends are where the rule ended the scenes of a plan, as far as outcomes tell.
// Without a rule it ended none.
type Ends struct {
	plan *bench.Plan
	// Cases are in the plan's order; nil without a rule.
	Cases []result.Stop
}

// Read replays the rule for every case from the outcomes stored so far and
// nothing else: the run under way, the one resumed and the report come to the
// same decisions.
func Read(p *bench.Plan, outcomes iter.Seq2[*bench.Outcome, error]) (*Ends, error) {
	if p.Until == nil {
		return Replay(p, nil), nil
	}
	last := map[string]*bench.Outcome{}
	for o, err := range outcomes {
		if err != nil {
			return nil, fmt.Errorf("replay the stopping rule: %w", err)
		}
		last[o.Trial] = o
	}
	return Replay(p, last), nil
}

// Replay asks the rule about every case. Last holds the last outcome of each
// trial that has any.
func Replay(p *bench.Plan, last map[string]*bench.Outcome) *Ends {
	e := &Ends{plan: p}
	if p.Until == nil {
		return e
	}
	seen := map[string]bool{}
	for i := range p.Scenes {
		if name := p.Scenes[i].Case; !seen[name] {
			seen[name] = true
			s := newHistory(p, name, last).stop(p.Until)
			s.Case = name
			e.Cases = append(e.Cases, s)
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
// baseline ends with the last platform that is compared with it.
func (e *Ends) Of(scene *bench.Scene) (blocks int, ended bool) {
	for _, s := range e.Cases {
		if s.Case != scene.Case {
			continue
		}
		if scene.Platform.String() == e.plan.Baseline {
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
		if end, ended := s.Platforms[platform]; ended {
			return s.Confidence, end
		}
		return s.Confidence, e.plan.Blocks
	}
	return effect.Confidence, e.plan.Blocks
}

// history is what a stopping rule may know of a case.
type history struct {
	blocks int // planned
	// whole is how many blocks, from the first, have a final outcome, and
	// reached the last that has any, by platform.
	whole, reached map[string]int
	baseline       string              // "" if it has no part in the case
	platforms      []string            // the others, in the plan's order
	names          map[string][]string // what is compared of each
	// values by block, by what is compared; the baseline's by metric.
	values, base map[string]map[int]float64
	metric       map[string]string // by what is compared
}

func newHistory(p *bench.Plan, name string, last map[string]*bench.Outcome) *history {
	h := &history{blocks: p.Blocks, whole: map[string]int{}, reached: map[string]int{}, names: map[string][]string{},
		values: map[string]map[int]float64{}, base: map[string]map[int]float64{}, metric: map[string]string{}}
	metrics := deciding(p.Metrics[name])
	for i := range p.Scenes {
		sc := &p.Scenes[i]
		if sc.Case != name {
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
		h.base[m] = map[int]float64{}
	}
	for _, t := range p.Trials {
		if sc := p.Scene(t.Scene); sc.Case == name {
			h.add(sc, t, last[t.ID], metrics)
		}
	}
	return h
}

// add takes note of a trial's last outcome, or that it has none.
func (h *history) add(sc *bench.Scene, t bench.Trial, o *bench.Outcome, metrics []string) {
	platform := sc.Platform.String()
	if o != nil {
		h.reached[platform] = max(h.reached[platform], t.Block)
	}
	if o == nil || o.Status == bench.Aborted {
		h.whole[platform] = min(h.whole[platform], t.Block-1)
		return
	}
	for _, m := range metrics {
		into := h.values[widthName(sc, m, metrics)]
		if platform == h.baseline {
			into = h.base[m]
		}
		for _, v := range o.Values {
			if v.Metric == m && o.Status == bench.Done {
				into[t.Block] = v.Value
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
	first := func(values map[int]float64) map[int]float64 {
		out := map[int]float64{}
		for b, v := range values {
			if b <= blocks {
				out[b] = v
			}
		}
		return out
	}
	all := map[string][]float64{}
	for _, platform := range platforms {
		for _, name := range h.names[platform] {
			all[name] = nil
			pairs, err := stats.PairedRatios(first(h.values[name]), first(h.base[h.metric[name]]))
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
func (h *history) stop(u *bench.Until) result.Stop {
	s := result.Stop{Looks: []result.Look{}, Platforms: map[string]int{}, Narrow: true}
	var before []string // in words, of the platforms that ended before the last look
	open := slices.Clone(h.platforms)
	for k, blocks := range u.Looks {
		s.Confidence = stats.LookConfidence(u.Looks, k, effect.Confidence)
		s.Blocks = h.ready(open)
		if blocks > s.Blocks {
			s.Narrow = false
			s.Why = strings.Join(append(before, fmt.Sprintf("goes on: the next look is after %d blocks", blocks)), "; ")
			return s
		}
		d := Decide(*u, h.ratios(open, blocks), blocks)
		s.Looks = append(s.Looks, result.Look{Blocks: blocks, Confidence: d.Confidence, Widths: d.Widths})
		var on []string
		for _, platform := range open {
			narrow := !slices.ContainsFunc(h.names[platform], func(name string) bool { return !d.Within(*u, name) })
			if (!narrow && blocks < u.Max) || h.reached[platform] > blocks {
				on = append(on, platform)
				continue
			}
			s.Platforms[platform] = blocks
			s.Narrow = s.Narrow && narrow
		}
		if len(on) == 0 && (len(h.platforms) > 0 || blocks == u.Max && h.reached[h.baseline] <= blocks) {
			s.Ended, s.Blocks = true, blocks
			s.Narrow = s.Narrow && len(h.platforms) > 0
			s.Why = strings.Join(append(before, d.Why), "; ")
			return s
		}
		for _, platform := range open {
			if s.Platforms[platform] == blocks {
				before = append(before, fmt.Sprintf("%s within ±%.3g %% after %d blocks", platform, 100*u.Interval, blocks))
			}
		}
		open = on
	}
	s.Narrow, s.Blocks = false, h.ready(open)
	return s
}
