package main

import (
	"io"
	"testing"

	"tare/internal/bench"
	"tare/internal/result"
)

// Cells of a table of scenes set against others count in the place of their
// cases: undecided, unfair, and not those that did not finish.
func TestStatusOfRelative(t *testing.T) {
	headline := bench.Metric{Name: "rate", Headline: true}
	for name, c := range map[string]struct {
		cell   result.MatrixCell
		status int
	}{
		"decided":   {result.MatrixCell{Effect: &result.Effect{Verdict: result.Differs}}, exitDone},
		"undecided": {result.MatrixCell{Effect: &result.Effect{Verdict: result.Inconclusive}}, exitUndecided},
		"unfair":    {result.MatrixCell{Effect: &result.Effect{Verdict: result.Unfair}}, exitInvalid},
		"dnf":       {result.MatrixCell{DNF: 3, Effect: &result.Effect{Verdict: result.Refused}}, exitDone},
		"overdue":   {result.MatrixCell{Overdue: 3, Effect: &result.Effect{Verdict: result.Refused}}, exitUndecided},
	} {
		c.cell.Case = "beside"
		r := &result.Result{
			Complete: true,
			Relative: &result.Matrix{Columns: []string{"x"}, Rows: []result.MatrixRow{{Case: "alone", Metric: headline, Cells: []*result.MatrixCell{&c.cell}}}},
			Cases:    []result.Case{{Name: "beside", Rows: []result.Row{{Metric: headline, Effect: &result.Effect{Verdict: result.Unfair}}}}},
		}
		if got := statusOf(resultStatus(io.Discard, "dir", r)); got != c.status {
			t.Errorf("%s: exit status %d, want %d", name, got, c.status)
		}
	}
}
