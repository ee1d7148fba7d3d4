package selftest

import (
	"fmt"
	"iter"
	"math"
	"time"

	"tare/internal/analysis/effect"
	"tare/internal/analysis/stats"
	"tare/internal/analysis/stop"
	"tare/internal/bench"
)

// replayedCase is a case of a run, ended by the rule from each start.
type replayedCase struct {
	until  bench.Until
	margin float64
	blocks int // of the run
	starts []int
	base   values // seconds of the baseline's trials
	rows   []*replayedRow
}

// replayedRow is a platform other than the baseline.
type replayedRow struct {
	name, platform string
	ratios         values
	took           values // seconds of its trials
	// By start: the blocks at which the rule ends the row, and the half width it
	// has then, NaN where there is none.
	ended []int
	width []float64
	// widths are half widths of 95 % intervals, by start and number of blocks.
	widths map[[2]int]float64
}

// measured is what a run measured, by scene and block.
type measured struct {
	plan  *bench.Plan
	found map[string]values
	took  map[string]values // seconds
	whole int               // blocks, from the first, with a final outcome of every trial
}

func measuredOf(r Ran) (*measured, error) {
	found, err := headlines(r.Plan, r.Outcomes)
	if err != nil {
		return nil, err
	}
	took, whole, err := seconds(r.Plan, r.Outcomes)
	return &measured{r.Plan, found, took, whole}, err
}

// replay ends each case by the rule, in the plan's order.
func (m *measured) replay(u bench.Until, starts []int) (cases []*replayedCase, err error) {
	base := map[string]string{} // the baseline's scene, by case
	for i := range m.plan.Scenes {
		if sc := &m.plan.Scenes[i]; sc.Platform.String() == m.plan.Baseline {
			base[sc.Case] = sc.ID
		}
	}
	at := map[string]*replayedCase{}
	for i := range m.plan.Scenes {
		sc := &m.plan.Scenes[i]
		c := at[sc.Case]
		if c == nil {
			c = &replayedCase{until: u, margin: m.plan.Margin, blocks: m.whole, starts: starts, base: m.took[base[sc.Case]]}
			at[sc.Case] = c
			cases = append(cases, c)
		}
		if sc.ID == base[sc.Case] {
			continue
		}
		against := m.found[base[sc.Case]]
		if sc.Turns > 0 { // a value is a ratio to the baseline already
			against = values{}
			for b := range m.found[sc.ID] {
				against[b] = 1
			}
		}
		pairs, err := stats.PairedRatios(m.found[sc.ID], against)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", sc.ID, err)
		}
		row := &replayedRow{name: sc.Case, platform: sc.Platform.String(), ratios: values{},
			took: m.took[sc.ID], widths: map[[2]int]float64{}}
		for _, p := range pairs {
			row.ratios[p.Block] = p.Value
		}
		c.rows = append(c.rows, row)
	}
	for _, c := range cases {
		for _, r := range c.rows {
			c.end(r)
		}
	}
	return cases, nil
}

// end ends a row by the rule from each start: asked at each look, as in a run.
func (c *replayedCase) end(r *replayedRow) {
	for _, start := range c.starts {
		rule := &stop.Rule{Until: c.until, Margin: c.margin, Family: 1}
		blocks, a, _ := rule.End(c.until.Max, func(blocks int) []float64 { return c.list(r.ratios, start, blocks) })
		r.ended, r.width = append(r.ended, blocks), append(r.width, a.Width)
	}
}

// list is what v has in so many blocks from the start, round the end of the run.
func (c *replayedCase) list(v values, start, blocks int) []float64 {
	var out []float64
	for k := range blocks {
		if x, ok := v[(start-1+k)%c.blocks+1]; ok {
			out = append(out, x)
		}
	}
	return out
}

// sum is the seconds in so many blocks from the start.
func (c *replayedCase) sum(start, blocks int, took ...values) float64 {
	sum := 0.0
	for _, v := range took {
		for _, x := range c.list(v, start, blocks) {
			sum += x
		}
	}
	return sum
}

// seconds is what every trial of the case takes by the rule, the baseline's as
// long as any other's, and in so many blocks.
func (c *replayedCase) seconds(blocks int) (rule, fixed float64) {
	for k, start := range c.starts {
		last := 0
		for _, r := range c.rows {
			last = max(last, r.ended[k])
			rule += c.sum(start, r.ended[k], r.took)
			fixed += c.sum(start, blocks, r.took)
		}
		rule += c.sum(start, last, c.base)
		fixed += c.sum(start, blocks, c.base)
	}
	return rule, fixed
}

// fixed is the half width of the 95 % interval of so many blocks, NaN of too few.
func (c *replayedCase) fixed(r *replayedRow, start, blocks int) float64 {
	key := [2]int{start, blocks}
	if w, ok := r.widths[key]; ok {
		return w
	}
	w := math.NaN()
	if i, err := stats.RatioInterval(c.list(r.ratios, start, blocks), effect.Confidence); err == nil {
		w = (i.High - i.Low) / 2 / i.Mid
	}
	r.widths[key] = w
	return w
}

// fewest is the fewest blocks from the start whose interval is within a half
// width, and the most that the rule allows if there are none.
func (c *replayedCase) fewest(r *replayedRow, start int, width float64) int {
	for n := stats.MinTested; n < c.until.Max; n++ {
		if c.fixed(r, start, n) <= width {
			return n
		}
	}
	return c.until.Max
}

// needs is how many blocks bring within what is wanted every row that the rule
// brings there from every start; 0 if there is none.
func (c *replayedCase) needs() int {
	worst := 0
	for _, r := range c.rows {
		if r.narrow(c.until.Interval) < len(c.starts) {
			continue
		}
		for _, start := range c.starts {
			worst = max(worst, c.fewest(r, start, c.until.Interval))
		}
	}
	return worst
}

func (r *replayedRow) narrow(wanted float64) int {
	n := 0
	for _, w := range r.width {
		if w <= wanted {
			n++
		}
	}
	return n
}

// result sets the rule's end of the row against fixed designs.
func (r *replayedRow) result(c *replayedCase, designs []int) StopRow {
	out := StopRow{Case: r.name, Platform: r.platform, Width: median(r.width), Narrow: r.narrow(c.until.Interval)}
	n := float64(len(c.starts))
	hindsight := 0.0
	for k, start := range c.starts {
		out.Blocks += float64(r.ended[k]) / n
		out.Seconds += c.sum(start, r.ended[k], r.took, c.base) / n
		fewest := c.fewest(r, start, r.width[k])
		out.Hindsight += float64(fewest) / n
		hindsight += c.sum(start, fewest, r.took, c.base) / n
	}
	out.Time = out.Seconds / hindsight
	for _, blocks := range designs {
		f := Fixed{Blocks: blocks}
		var widths []float64
		for _, start := range c.starts {
			widths = append(widths, c.fixed(r, start, blocks))
			f.Seconds += c.sum(start, blocks, r.took, c.base) / n
		}
		f.Width, f.Time = median(widths), out.Seconds/f.Seconds
		out.Fixed = append(out.Fixed, f)
	}
	return out
}

// median is nil if one of the values is not known.
func median(x []float64) *float64 {
	for _, v := range x {
		if math.IsNaN(v) {
			return nil
		}
	}
	m := stats.Median(x)
	return &m
}

// seconds is how long each trial took, by scene and block, and how many blocks
// from the first have a final outcome of every trial.
func seconds(p *bench.Plan, outcomes iter.Seq2[*bench.Outcome, error]) (map[string]values, int, error) {
	took := map[string]values{}
	for o, err := range outcomes {
		if err != nil {
			return nil, 0, err
		}
		if o.Status == bench.Aborted || len(o.Phases) == 0 || o.Scene == bench.IdleScene {
			continue
		}
		last := o.Phases[len(o.Phases)-1]
		t := time.Duration(last.End - o.Phases[0].Start)
		if last.Name != "cooldown" {
			t += p.Scene(o.Scene).Timing.Cooldown
		}
		if took[o.Scene] == nil {
			took[o.Scene] = values{}
		}
		took[o.Scene][o.Block] = t.Seconds()
	}
	whole := p.Blocks
	for i := range p.Scenes {
		for b := 1; b <= whole; b++ {
			if _, ok := took[p.Scenes[i].ID][b]; !ok {
				whole = b - 1
			}
		}
	}
	return took, whole, nil
}
