package analysis

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"tare/internal/analysis/effect"
	"tare/internal/analysis/stats"
	"tare/internal/bench"
	"tare/internal/result"
)

// peaks finds the highest rate that each platform holds, by block, where the scenes of a curve ask for
// it. It stands with the curve of what was got.
func peaks(s *result.Sweep, cases []result.Case, plan *bench.Plan) {
	asked := peakOf(s, cases, plan)
	if asked == nil {
		return
	}
	found := map[string]map[int]float64{} // by platform and block
	for i := range s.Lines {
		l := &s.Lines[i]
		found[l.Platform], l.NoPeak = linePeaks(s, l.Platform, cases, asked.Peak, asked.Timing.Measure)
		if l.NoPeak != "" {
			continue
		}
		at := slices.Collect(maps.Values(found[l.Platform]))
		in, err := stats.RatioInterval(at, effect.Confidence) // of any positive values
		if err != nil {
			l.NoPeak = "too few blocks"
			continue
		}
		l.Peak = &result.Peak{At: in.Mid, Low: in.Low, High: in.High, N: len(at)}
	}
	b := slices.IndexFunc(s.Lines, func(l result.SweepLine) bool { return l.Baseline && l.Peak != nil })
	if b < 0 {
		return
	}
	for i := range s.Lines {
		l := &s.Lines[i]
		if l.Peak == nil || i == b {
			continue
		}
		var ratios []float64
		paired, err := stats.PairedRatios(found[l.Platform], found[s.Lines[b].Platform])
		for _, r := range paired {
			ratios = append(ratios, r.Value)
		}
		if in, err2 := stats.RatioInterval(ratios, effect.Confidence); err == nil && err2 == nil {
			l.Peak.Ratio = &result.Knee{At: in.Mid, Low: in.Low, High: in.High}
		}
	}
}

// peakOf is a scene of the curve that says when a rate is held; nil if none does, or of another metric.
func peakOf(s *result.Sweep, cases []result.Case, plan *bench.Plan) *bench.Scene {
	for i := range plan.Scenes {
		sc := &plan.Scenes[i]
		of := func(c result.Case) bool { return c.Name == sc.Case && others(&c, s.Factor) == s.Name }
		if sc.Peak != nil && sc.Peak.Loop.Rate == s.Factor && sc.Peak.Loop.Got == s.Metric.Name && slices.ContainsFunc(cases, of) {
			return sc
		}
	}
	return nil
}

// linePeaks are a platform's, by block, or why there are none: a mean of those alone that the rates
// enclose would be of chosen blocks.
func linePeaks(s *result.Sweep, platform string, cases []result.Case, p *bench.Peak, window time.Duration) (at map[int]float64, why string) {
	bounds := stats.PeakBounds{Short: p.Short, Errors: p.Errors, Latency: -1} // which no latency keeps
	launches := map[int]map[float64]*stats.Asked{}                            // by block and rate
	for i := range cases {
		c := &cases[i]
		rate, ok := bench.LevelNumber(c.Factors[s.Factor])
		if !ok || others(c, s.Factor) != s.Name {
			continue
		}
		for _, row := range c.Rows {
			if row.Platform != platform {
				continue
			}
			if row.Metric.Name == p.Loop.Latency {
				bounds.Latency, bounds.Window = inUnit(row.Metric, p.Bound), inUnit(row.Metric, window)
			}
			for _, v := range row.Points {
				if launches[v.Block] == nil {
					launches[v.Block] = map[float64]*stats.Asked{}
				}
				a := launches[v.Block][rate]
				if a == nil {
					a = &stats.Asked{Rate: rate}
					launches[v.Block][rate] = a
				}
				switch row.Metric.Name {
				case p.Loop.Got:
					a.Got = v.Value
				case p.Loop.Answered:
					a.Answered = v.Value / 100
				case p.Loop.Latency:
					a.Latency = v.Value
				}
			}
		}
	}
	at = map[int]float64{}
	var above, below int
	for block, rates := range launches {
		var levels []stats.Asked
		for _, a := range rates {
			levels = append(levels, *a)
		}
		x, end := stats.Peak(levels, bounds)
		switch end {
		case stats.Above:
			above++
		case stats.Below:
			below++
		default:
			at[block] = x
		}
	}
	switch n := len(launches); {
	case n == 0:
		return nil, "no launch finished"
	case above > 0:
		return nil, fmt.Sprintf("in %d of %d blocks the highest rate was held, so it lies above", above, n)
	case below > 0:
		return nil, fmt.Sprintf("in %d of %d blocks not even the lowest rate was held", below, n)
	}
	return at, ""
}

// inUnit is a time in the metric's unit; 0, if that is none of time.
func inUnit(m bench.Metric, d time.Duration) float64 {
	v, err := m.FromNanoseconds(float64(d))
	if err != nil {
		return 0
	}
	return v
}
