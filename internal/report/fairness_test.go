package report

import (
	"slices"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/result"
)

// What is said of the fairness between alike subjects has its interval, or
// none, and stands in the text, on the page and with a cell.
func TestFairnessBetweenTheAlike(t *testing.T) {
	rate := bench.Metric{Name: "throughput", Unit: "events/s", Better: bench.HigherIsBetter, Headline: true}
	fair := &result.Fairness{Jain: result.Share{Mean: 0.998, Low: 0.99, High: 1}, Apart: result.Share{Mean: 0.042, Low: 0, High: 0.091}, N: 3}
	few := &result.Fairness{Jain: result.Share{Mean: 0.8}, Apart: result.Share{Mean: 2.0 / 3}, N: 1, Why: "1 block"}
	rows := []result.Row{
		{Metric: rate, Platform: "native", Baseline: true, Fairness: fair},
		{Metric: rate, Platform: "qemu-tcg", Label: "emulated (tcg)", Fairness: few},
		{Metric: bench.Metric{Name: "latency"}, Platform: "native"},
	}
	want := []string{"Fairness between the alike, throughput (apart: the least from the most; Jain's index: 1 is equal): " +
		"native 4.2 % apart (0.0 to 9.1), Jain 0.998 (0.990 to 1.000); qemu-tcg, emulated (tcg) 66.7 % apart, Jain 0.800"}
	if got := fairnessOf(rows); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	r := &result.Result{Title: "equals", Margin: 0.03, Cases: []result.Case{{Name: "two", Title: "Two alike", Rows: rows}}}
	var text, page strings.Builder
	if err := Text(&text, r); err != nil {
		t.Fatal(err)
	}
	if err := HTML(&page, r); err != nil {
		t.Fatal(err)
	}
	for name, out := range map[string]string{"text": text.String(), "page": page.String()} {
		if !strings.Contains(strings.Join(strings.Fields(out), " "), "4.2 % apart (0.0 to 9.1)") {
			t.Errorf("not in the %s:\n%s", name, out)
		}
	}
	cell := &result.MatrixCell{Effect: &result.Effect{}, Fairness: few}
	if got := cellNotes(result.MatrixRow{Row: "CPU", Platform: "lxc", Metric: rate}, "two alike", cell); got != "CPU, lxc, two alike: the alike subjects among themselves: 66.7 % apart, Jain 0.800" {
		t.Error(got)
	}
}
