package main

import (
	"testing"

	"tare/internal/bench"
	"tare/internal/overhead"
)

// Cells of a table of scenes set against others count in the place of their
// cases: undecided, unfair, and not those that did not finish.
func TestStatusOfRelative(t *testing.T) {
	headline := bench.Metric{Name: "rate", Headline: true}
	for name, c := range map[string]struct {
		cell              overhead.MatrixCell
		unfair, undecided bool
	}{
		"decided":   {overhead.MatrixCell{Effect: &overhead.Effect{Verdict: overhead.Differs}}, false, false},
		"undecided": {overhead.MatrixCell{Effect: &overhead.Effect{Verdict: overhead.Inconclusive}}, false, true},
		"unfair":    {overhead.MatrixCell{Effect: &overhead.Effect{Verdict: overhead.Unfair}}, true, false},
		"dnf":       {overhead.MatrixCell{DNF: 3, Effect: &overhead.Effect{Verdict: overhead.Refused}}, false, false},
		"overdue":   {overhead.MatrixCell{Overdue: 3, Effect: &overhead.Effect{Verdict: overhead.Refused}}, false, true},
	} {
		c.cell.Case = "beside"
		r := &overhead.Result{
			Relative: &overhead.Matrix{Columns: []string{"x"}, Rows: []overhead.MatrixRow{{Case: "alone", Metric: headline, Cells: []*overhead.MatrixCell{&c.cell}}}},
			Cases:    []overhead.Case{{Name: "beside", Rows: []overhead.Row{{Metric: headline, Effect: &overhead.Effect{Verdict: overhead.Unfair}}}}},
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
	for want, r := range map[string]*overhead.Result{
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
