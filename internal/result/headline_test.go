package result

import (
	"testing"

	"tare/internal/bench"
)

// The hint after an undecided run says each override once.
func TestMoreBlocksReplaceThoseThatWereAsked(t *testing.T) {
	for want, r := range map[string]*Result{
		"tare run quick --set timing.measure=1s --set blocks=10": {Blocks: 3, Repeat: "tare run quick --set blocks=3 --set timing.measure=1s"},
		"tare run quick --set until.interval=1.5% --set until.max=60": {Until: &bench.Until{Interval: 0.03, Max: 20},
			Repeat: "tare run quick --set 'until.interval=3%' --set until.max=20"},
		"tare selftest aa --comparisons 60": {Blocks: 3, Repeat: "tare selftest aa --comparisons 60"},
	} {
		if got := r.WithMore(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What is suggested follows the estimates that stand beside it.
func TestMoreFollowsTheEstimates(t *testing.T) {
	const fixed, ruled = "tare run quick --set blocks=10", "tare run quick"
	open := func(needed ...int) (rows []Row) {
		for _, n := range needed {
			rows = append(rows, Row{Metric: bench.Metric{Headline: true}, Effect: &Effect{Verdict: Inconclusive, N: 10, Needed: n}})
		}
		return append(rows, Row{Metric: bench.Metric{Headline: true}, Effect: &Effect{Verdict: Differs, N: 10}})
	}
	for _, c := range []struct {
		name   string
		rows   []Row
		until  *bench.Until
		repeat string
		want   More
		with   string
	}{
		{"one far off", open(31, 412), nil, fixed, More{Blocks: 412, Added: 402, Seconds: 2 * 5 * (21 + 402), Open: 2}, ruled + " --set blocks=412"},
		{"soon", open(12), nil, fixed, More{Blocks: 12, Added: 10, Seconds: 20, Open: 1}, ruled + " --set blocks=12"},
		{"some never", open(31, 1001), nil, fixed, More{Blocks: 31, Added: 21, Seconds: 210, Open: 2, Beyond: 1}, ruled + " --set blocks=31"},
		{"not known", open(0), nil, fixed, More{Blocks: 10, Added: 10, Open: 1}, ruled + " --set blocks=30"},
		{"a rule", open(412), &bench.Until{Interval: 0.03, Max: 60}, ruled, More{Blocks: 412, Added: 402, Seconds: 4020, Open: 1},
			ruled + " --set until.interval=1.5% --set until.max=412"},
		{"a budget", open(412), &bench.Until{Interval: 0.03, Max: 60, Budget: 1}, ruled, More{Blocks: 412, Added: 402, Seconds: 4020, Open: 1},
			ruled + " --set until.interval=1.5% --set until.max=412 --set budget=69m"},
	} {
		r := &Result{Blocks: 10, Seconds: 100, Trials: Counts{Done: 20}, Cases: []Case{{Rows: c.rows}}, Until: c.until, Repeat: c.repeat}
		if got := r.More(); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
		if got := r.WithMore(); got != c.with {
			t.Errorf("%s: %q, want %q", c.name, got, c.with)
		}
	}
}
