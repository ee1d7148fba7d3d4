package effect

import (
	"fmt"
	"math"

	"tare/internal/figure"
	"tare/internal/result"
	"tare/internal/stats"
)

const (
	// significance is the level at which a test is said to have found something.
	significance = 1 - Confidence
	// minTested is the fewest blocks whose permutation test can reach that
	// level: of n ratios the smallest p is 2^(1-n).
	minTested = 6
)

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
			e.AddWhy(unsupported(e, count(adjusted)))
		}
		if e.Drift != nil && drifts[i] < significance {
			row.Warnings = append(row.Warnings, fmt.Sprintf("the ratio drifts by %+.2g %% per block (p = %.2g, corrected for %s): blocks do not repeat each other",
				100*e.Drift.PerBlock, drifts[i], figure.Count(count(drifts), "test")))
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

// unsupported says that the permutation test over the table does not bear out
// an interval that excludes 1. The verdict stays the interval's.
func unsupported(e *result.Effect, tests int) string {
	switch {
	case e.Verdict != result.Differs || e.N < minTested || *e.Holm < significance:
		return ""
	case float64(tests)*math.Ldexp(1, 1-e.N) > significance:
		return fmt.Sprintf("%d blocks are too few for the permutation test to bear it out among %s (p = %.2g)", e.N, figure.Count(tests, "comparison"), *e.Holm)
	}
	return fmt.Sprintf("the permutation test, corrected for %s, does not bear it out (p = %.2g)", figure.Count(tests, "comparison"), *e.Holm)
}
