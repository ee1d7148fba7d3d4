package overhead

import (
	"fmt"

	"tare/internal/bench"
	"tare/internal/stats"
	"tare/internal/stop"
	"tare/internal/store"
)

// StopsOf replays a run's stopping rule for every case, in the plan's order,
// from the outcomes stored so far and nothing else: the run under way, the one
// resumed and the report come to the same decisions. Without a rule there are none.
func StopsOf(r *store.Run) ([]Stop, error) {
	if r.Plan().Until == nil {
		return nil, nil
	}
	last := map[string]*bench.Outcome{}
	for o, err := range r.Outcomes() {
		if err != nil {
			return nil, fmt.Errorf("replay the stopping rule: %w", err)
		}
		last[o.Trial] = o
	}
	return replay(r.Plan(), last), nil
}

// NotNeeded reports whether the trial lies beyond the end of its case.
func NotNeeded(p *bench.Plan, stops []Stop, t bench.Trial) bool {
	for _, s := range stops {
		if s.Ended && t.Block > s.Blocks && p.Scene(t.Scene).Case == s.Case {
			return true
		}
	}
	return false
}

// replay asks the rule about every case; last holds the last outcome of each trial.
func replay(p *bench.Plan, last map[string]*bench.Outcome) []Stop {
	if p.Until == nil {
		return nil
	}
	var stops []Stop
	seen := map[string]bool{}
	for i := range p.Scenes {
		if name := p.Scenes[i].Case; !seen[name] {
			seen[name] = true
			s := newHistory(p, name, last).stop(p.Until)
			s.Case = name
			stops = append(stops, s)
		}
	}
	return stops
}

// history is what a stopping rule may know of a case.
type history struct {
	// whole is how many blocks, from the first, have a final outcome of every
	// scene; reached is the last that has any outcome.
	whole, reached int
	// values by block, by what is compared; the baseline's apart.
	values, baseline map[string]map[int]float64
	base             map[string]string // whose baseline is whose
}

func newHistory(p *bench.Plan, name string, last map[string]*bench.Outcome) *history {
	h := &history{values: map[string]map[int]float64{}, baseline: map[string]map[int]float64{}, base: map[string]string{}}
	metrics := deciding(p.Metrics[name])
	for i := range p.Scenes {
		if sc := &p.Scenes[i]; sc.Case == name && sc.Platform.String() != p.Baseline {
			for _, m := range metrics {
				h.values[widthName(sc, m, metrics)] = map[int]float64{}
				h.base[widthName(sc, m, metrics)] = m
			}
		}
	}
	open := p.Blocks + 1 // the first block that lacks an outcome
	for _, t := range p.Trials {
		sc := p.Scene(t.Scene)
		if sc.Case != name {
			continue
		}
		o := last[t.ID]
		if o != nil {
			h.reached = max(h.reached, t.Block)
		}
		if o == nil || o.Status == bench.Aborted {
			open = min(open, t.Block)
			continue
		}
		for _, m := range metrics {
			into := h.values[widthName(sc, m, metrics)]
			if sc.Platform.String() == p.Baseline {
				if h.baseline[m] == nil {
					h.baseline[m] = map[int]float64{}
				}
				into = h.baseline[m]
			}
			for _, v := range o.Values {
				if v.Metric == m && o.Status == bench.Done {
					into[t.Block] = v.Value
				}
			}
		}
	}
	h.whole = open - 1
	return h
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

// ratios are the paired ratios of the first blocks. Where one cannot be made,
// such as of a zero, there are none: the case goes on to its max.
func (h *history) ratios(blocks int) map[string][]float64 {
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
	for name, values := range h.values {
		all[name] = nil
		pairs, err := stats.PairedRatios(first(values), first(h.baseline[h.base[name]]))
		if err != nil {
			continue
		}
		for _, r := range pairs {
			all[name] = append(all[name], r.Value)
		}
	}
	return all
}

// stop asks the rule at each look whose blocks are whole. A case that was run
// beyond a look was not ended there, whatever the rule says of it now.
func (h *history) stop(u *bench.Until) Stop {
	s := Stop{Blocks: h.whole, Looks: []Look{}}
	for k, blocks := range u.Looks {
		if blocks > h.whole {
			s.Confidence = stats.LookConfidence(u.Looks, k, confidence)
			s.Why = fmt.Sprintf("goes on: the next look is after %d blocks", blocks)
			return s
		}
		d := stop.Decide(*u, h.ratios(blocks), blocks)
		s.Looks = append(s.Looks, Look{Blocks: blocks, Confidence: d.Confidence, Widths: d.Widths})
		s.Confidence = d.Confidence
		if (d.Stop || blocks == u.Max) && h.reached <= blocks {
			s.Ended, s.Blocks, s.Narrow, s.Why = true, blocks, d.Narrow, d.Why
			return s
		}
	}
	return s
}
