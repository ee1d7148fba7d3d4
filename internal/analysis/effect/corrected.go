package effect

import (
	"fmt"
	"math"

	"tare/internal/analysis/stats"
	"tare/internal/bench/figure"
	"tare/internal/result"
)

// significance is the level at which a test is said to have found something.
const significance = 1 - Confidence

// Family corrects the verdicts of effects that share a baseline for their number, by
// Holm's method on the p values of their intervals: among any number that are alike, one
// or more are said to differ in at most 5 % of experiments. One that does not
// stand is inconclusive. What names the family: "the 3 platforms compared with native".
func Family(effects []*result.Effect, what string) {
	scaled := make([]float64, len(effects))
	for i, e := range effects {
		scaled[i] = math.NaN()
		if e.HasRatio() && e.PInterval != nil {
			// An interval at a higher level needs a smaller p for the same.
			scaled[i] = min(1, *e.PInterval*significance/(1-e.Confidence))
		}
	}
	for i, p := range stats.Holm(scaled) {
		e := effects[i]
		if math.IsNaN(p) {
			continue
		}
		e.PFamily = &p
		if e.Verdict == result.Differs && p >= significance {
			e.Verdict = result.Inconclusive
			e.AddWhy(fmt.Sprintf("alone it would differ, but not among %s (%s)", what, figure.P(p)))
		}
	}
}

// Test fills in the tests of an effect. A test that the data do not allow stays
// absent, and so do all of an effect without an interval.
func Test(e *result.Effect, margin float64) {
	if !e.HasRatio() {
		return
	}
	ratios := result.Values(e.Ratios)
	if p, err := stats.SignFlip(ratios); err == nil {
		e.P = &p
	}
	if p, err := stats.Equivalence(ratios, margin); err == nil {
		e.Equivalence = &p
	}
	if slope, p, err := stats.Drift(ratios); err == nil {
		e.Drift = &result.Drift{PerBlock: slope, P: p}
	}
}

// Correct corrects the tests of a table's rows with a ratio for their number,
// and says with a row what they weaken.
func Correct(rows []*result.Row) {
	adjusted := stats.Holm(collect(rows, func(e *result.Effect) *float64 { return e.P }))
	drifts := stats.Holm(collect(rows, func(e *result.Effect) *float64 {
		if e.Drift == nil {
			return nil
		}
		return &e.Drift.P
	}))
	for i, row := range rows {
		e := row.Effect
		if e.P != nil {
			e.Holm = &adjusted[i]
		}
		if e.Drift != nil && drifts[i] < significance {
			row.Warnings = append(row.Warnings, fmt.Sprintf("the ratio drifts by %s per block (%s, corrected for %s): blocks do not repeat each other",
				figure.Drift(e.Drift.PerBlock), figure.P(drifts[i]), figure.Count(count(drifts), "test")))
		}
	}
}

// collect returns the p of each row, NaN where a test could not be made.
func collect(rows []*result.Row, of func(*result.Effect) *float64) []float64 {
	out := make([]float64, len(rows))
	for i, row := range rows {
		out[i] = math.NaN()
		if p := of(row.Effect); p != nil {
			out[i] = *p
		}
	}
	return out
}

func count(p []float64) int {
	n := 0
	for _, v := range p {
		if !math.IsNaN(v) {
			n++
		}
	}
	return n
}
