package overhead

import (
	"fmt"
	"slices"

	"tare/internal/audit"
	"tare/internal/bench"
	"tare/internal/stats"
)

// ownPercentiles are each launch's own, and how many launches have too few requests beyond.
func ownPercentiles(launches []launchHistogram, share float64) (points []Point, short int) {
	for _, x := range launches {
		q := x.h.Quantile(share)
		if q.Beyond < minBeyond {
			short++
		}
		points = append(points, Point{x.block, x.trial, q.Mid()})
	}
	return points, short
}

// metric is what a percentile of a single launch is called.
func (l *Latency) metric(p *Percentile) bench.Metric {
	return bench.Metric{Name: l.Histogram + "_" + p.Name, Unit: "ns", Better: bench.LowerIsBetter,
		Combine: bench.Merge, Histogram: l.Histogram, Quantile: p.Share}
}

// tailEffect compares the percentiles of single launches. A percentile that too
// few launches can give is compared in none: those that could would be chosen
// by how much they got done.
func (s *study) tailEffect(l *Latency, p *Percentile, caseName string, launches, native []launchHistogram, compared bool, fair *audit.Audit) *Effect {
	own, short := ownPercentiles(launches, p.Share)
	base, shortBase := ownPercentiles(native, p.Share)
	short += shortBase
	row := Row{Metric: l.metric(p), Platform: l.Platform, Points: own}
	if short > 0 {
		e := &Effect{Verdict: Refused, Ratios: []Point{}, Caution: s.caution(l.Platform),
			Why: fmt.Sprintf("%d of %d launches have fewer than %d requests beyond it", short, len(launches)+len(native), minBeyond)}
		e.Words = words(e, row.Metric, s.plan.Margin)
		return e
	}
	e := s.effect(&row, caseName, compared, base, fair)
	e.Audit = nil // it is with the case's rows
	if p.Bounds != nil {
		e.addWhy(coarse(e, *p.Bounds))
	}
	return e
}

// TailRows are the percentiles of the case's single launches, as rows for
// exports that have a line for each launch. Those that are rows already are left out.
func (c *Case) TailRows() []Row {
	var rows []Row
	for i := range c.Latency {
		l := &c.Latency[i]
		for j := range l.Percentiles {
			p := &l.Percentiles[j]
			m := l.metric(p)
			if len(p.Points) == 0 || slices.ContainsFunc(c.Rows, func(r Row) bool { return r.Metric.Name == m.Name }) {
				continue
			}
			rows = append(rows, Row{Metric: m, Platform: l.Platform, Label: l.Label, Baseline: l.Baseline, Points: p.Points,
				Median: stats.Median(values(p.Points)), N: len(p.Points), Effect: p.Effect})
		}
	}
	return rows
}

// sayResolution adds to the case's rows of percentiles what their histograms do
// not tell: differences within a bin, and tails that a launch has too few requests for.
func sayResolution(c *Case, l *Latency, launches []launchHistogram) {
	for i := range c.Rows {
		row := &c.Rows[i]
		if row.Metric.Histogram != l.Histogram || row.Platform != l.Platform {
			continue
		}
		short := 0
		for _, x := range launches {
			if x.h.Quantile(row.Metric.Quantile).Beyond < minBeyond {
				short++
			}
		}
		if short > 0 {
			row.Warnings = append(row.Warnings, fmt.Sprintf("%d of %d launches have fewer than %d requests beyond their %s: it is where a few happened to fall",
				short, len(launches), minBeyond, row.Metric.Name))
		}
		for _, p := range l.Curve {
			if row.Effect != nil && p.Share >= row.Metric.Quantile {
				row.Effect.addWhy(coarse(row.Effect, Bounds{p.Low, p.High}))
				break
			}
		}
	}
}

// coarse says that an interval is narrower than the bins its values were read
// from. Values in one bin are the same, and close ones on two sides of an edge
// a bin's width apart.
func coarse(e *Effect, b Bounds) string {
	width := float64(b.High-b.Low) / (float64(b.High)/2 + float64(b.Low)/2)
	if !e.HasRatio() || (e.High-e.Low)/2/e.Ratio >= width {
		return ""
	}
	return fmt.Sprintf("the interval is narrower than the bins of the histogram (%.1f %%), which tell no smaller difference", 100*width)
}
