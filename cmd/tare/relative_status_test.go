package main

import (
	"testing"

	"tare/internal/bench"
	"tare/internal/result"
)

// Cells of a table of scenes set against others count in the place of their
// cases: undecided, unfair, and not those that did not finish.
func TestStatusOfRelative(t *testing.T) {
	headline := bench.Metric{Name: "rate", Headline: true}
	for name, c := range map[string]struct {
		cell              result.MatrixCell
		unfair, undecided bool
	}{
		"decided":   {result.MatrixCell{Effect: &result.Effect{Verdict: result.Differs}}, false, false},
		"undecided": {result.MatrixCell{Effect: &result.Effect{Verdict: result.Inconclusive}}, false, true},
		"unfair":    {result.MatrixCell{Effect: &result.Effect{Verdict: result.Unfair}}, true, false},
		"dnf":       {result.MatrixCell{DNF: 3, Effect: &result.Effect{Verdict: result.Refused}}, false, false},
		"overdue":   {result.MatrixCell{Overdue: 3, Effect: &result.Effect{Verdict: result.Refused}}, false, true},
	} {
		c.cell.Case = "beside"
		r := &result.Result{
			Relative: &result.Matrix{Columns: []string{"x"}, Rows: []result.MatrixRow{{Case: "alone", Metric: headline, Cells: []*result.MatrixCell{&c.cell}}}},
			Cases:    []result.Case{{Name: "beside", Rows: []result.Row{{Metric: headline, Effect: &result.Effect{Verdict: result.Unfair}}}}},
		}
		if got := unfairStatus(r); (got != nil) != c.unfair || c.unfair && statusOf(got) != exitInvalid {
			t.Errorf("%s: unfair: %v", name, got)
		}
		if got := undecided(r); (got == 1) != c.undecided {
			t.Errorf("%s: %d undecided", name, got)
		}
	}
}

// The hint after an undecided run says each override once.
func TestMoreBlocksReplaceThoseThatWereAsked(t *testing.T) {
	for want, r := range map[string]*result.Result{
		"tare run quick --set timing.measure=1s --set blocks=10": {Blocks: 3, Repeat: "tare run quick --set blocks=3 --set timing.measure=1s"},
		"tare run quick --set until.interval=1.5% --set until.max=60": {Until: &bench.Until{Interval: 0.03, Max: 20},
			Repeat: "tare run quick --set 'until.interval=3%' --set until.max=20"},
		"tare selftest aa --comparisons 60": {Blocks: 3, Repeat: "tare selftest aa --comparisons 60"},
	} {
		if got := withMore(r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
