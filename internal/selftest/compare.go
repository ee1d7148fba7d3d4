// Package selftest asks whether this program's own numbers can be trusted on a
// host: whether it calls a platform different from itself, and finds a
// slowdown that was put there. It is pure; the command carries the runs out.
package selftest

import (
	"fmt"
	"iter"

	"tare/internal/analysis/effect"
	"tare/internal/bench"
	"tare/internal/result"
)

// Alias is the second name under which a platform is measured again: native[as=b].
const Alias = "b"

// A Comparison is of one platform under two names over one group of blocks.
type Comparison struct {
	Platform string `json:"platform"` // the first name
	Case     string `json:"case"`
	Blocks   [2]int `json:"blocks"` // first and last
	// Ratio, Low and High are of the second name over the first; 0 if refused.
	Ratio   float64        `json:"ratio"`
	Low     float64        `json:"low"`
	High    float64        `json:"high"`
	Verdict result.Verdict `json:"verdict"`
	Why     string         `json:"why,omitempty"` // of a refusal
}

// Holds reports whether the interval holds the ratio.
func (c *Comparison) Holds(ratio float64) bool { return c.Low <= ratio && ratio <= c.High }

// values are a scene's headline values by block.
type values map[int]float64

// headlines reads the headline value of every finished trial, by scene.
func headlines(p *bench.Plan, outcomes iter.Seq2[*bench.Outcome, error]) (map[string]values, error) {
	metric := map[string]string{}
	for name, ms := range p.Metrics {
		for _, m := range ms {
			if m.Headline {
				metric[name] = m.Name
			}
		}
	}
	found := map[string]values{}
	for o, err := range outcomes {
		if err != nil {
			return nil, err
		}
		if o.Scene == bench.IdleScene {
			continue
		}
		scene := p.Scene(o.Scene)
		if scene == nil {
			return nil, fmt.Errorf("trial %s names scene %q, which is not in the plan", o.Trial, o.Scene)
		}
		if o.Status != bench.Done {
			continue
		}
		if found[o.Scene] == nil {
			found[o.Scene] = values{}
		}
		for _, v := range o.Values {
			if v.Metric == metric[scene.Case] {
				found[o.Scene][o.Block] = v.Value
			}
		}
	}
	return found, nil
}

// part is what of v lies in the blocks from first to last.
func (v values) part(first, last int) values {
	out := values{}
	for b := first; b <= last; b++ {
		if x, ok := v[b]; ok {
			out[b] = x
		}
	}
	return out
}

// compare compares two scenes of a case over a group of blocks. A block without
// both is left out; a group without any has no comparison.
func compare(value, base values, first, last int, margin float64) (Comparison, bool) {
	value, base = value.part(first, last), base.part(first, last)
	if len(value) == 0 || len(base) == 0 {
		return Comparison{}, false
	}
	interval, verdict, err := effect.Compare(value, base, effect.Confidence, margin)
	c := Comparison{Blocks: [2]int{first, last}, Ratio: interval.Mid, Low: interval.Low, High: interval.High, Verdict: verdict}
	if err != nil {
		c.Why = err.Error()
	}
	return c, true
}

// groups are the whole groups of consecutive blocks.
func groups(blocks, size int) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for first := 1; first+size-1 <= blocks; first += size {
			if !yield(first, first+size-1) {
				return
			}
		}
	}
}
