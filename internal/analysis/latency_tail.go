package analysis

import (
	"fmt"

	"tare/internal/analysis/audit"
	"tare/internal/bench"
	"tare/internal/bench/figure"
	"tare/internal/result"
)

// ownPercentiles are each launch's own, and how many launches have too few requests beyond.
func ownPercentiles(launches []launchHistogram, share float64) (points []result.Point, short int) {
	for _, x := range launches {
		q := x.h.Quantile(share)
		if q.Beyond < minBeyond {
			short++
		}
		points = append(points, result.Point{Block: x.block, Trial: x.trial, Value: q.Mid()})
	}
	return points, short
}

// tails compares the percentiles of a case's histogram with the baseline's.
type tails struct {
	judge    *judge
	caseName string
	compared bool // the baseline has a part in the case
	native   []launchHistogram
}

// effect compares the percentiles of single launches. A percentile that too
// few launches can give is compared in none: those that could would be chosen
// by how much they got done.
func (t *tails) effect(l *result.Latency, p *result.Percentile, launches []launchHistogram, fair *audit.Audit) *result.Effect {
	own, short := ownPercentiles(launches, p.Share)
	base, shortBase := ownPercentiles(t.native, p.Share)
	short += shortBase
	row := result.Row{Metric: l.Metric(p), Platform: l.Platform, Points: own}
	if short > 0 {
		e := refused(fmt.Sprintf("%d of %d launches have fewer than %d requests beyond it", short, len(launches)+len(t.native), minBeyond))
		e.Caution = t.judge.caution(l.Platform)
		e.Words = e.Say(row.Metric, t.judge.margin)
		return e
	}
	e := t.judge.effect(&row, t.caseName, t.compared, base, fair)
	e.Audit = nil // it is with the case's rows
	if p.Bounds != nil {
		e.AddWhy(coarse(e, *p.Bounds))
	}
	e.Exploratory = true
	t.judge.say(e, row.Metric)
	return e
}

// sayResolution adds to a case's rows of percentiles what their histograms do
// not tell: differences within a bin, and tails that a launch has too few requests for.
func sayResolution(rows []result.Row, l *result.Latency, launches []launchHistogram) {
	for i := range rows {
		row := &rows[i]
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
				row.Effect.AddWhy(coarse(row.Effect, result.Bounds{Low: p.Low, High: p.High}))
				break
			}
		}
	}
}

// roundedTo says that an interval is narrower than what the program rounds its values to: those of one step
// are the same, and close ones on two sides of an edge a step apart.
func roundedTo(e *result.Effect, m bench.Metric, median float64) string {
	if m.Step == 0 || !e.HasRatio() || (e.High-e.Low)/2/e.Ratio >= m.Step/median {
		return ""
	}
	return fmt.Sprintf("the interval is narrower than the steps of the program's output (%s, %.0f %%), which tell no smaller difference",
		figure.Quantity(m.Step, m.Unit), 100*m.Step/median)
}

// coarse says that an interval is narrower than the bins its values were read
// from. Values in one bin are the same, and close ones on two sides of an edge
// a bin's width apart.
func coarse(e *result.Effect, b result.Bounds) string {
	width := float64(b.High-b.Low) / (float64(b.High)/2 + float64(b.Low)/2)
	if !e.HasRatio() || (e.High-e.Low)/2/e.Ratio >= width {
		return ""
	}
	return fmt.Sprintf("the interval is narrower than the bins of the histogram (%.1f %%), which tell no smaller difference", 100*width)
}
