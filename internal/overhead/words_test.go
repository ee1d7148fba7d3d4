package overhead

import (
	"testing"

	"tare/internal/bench"
)

func TestAnswerSaysACommonRefusalOnce(t *testing.T) {
	metric := bench.Metric{Name: "throughput", Unit: "events/s", Better: bench.HigherIsBetter, Headline: true}
	refused := func(platform string, median float64, why, caution string) Row {
		return Row{Metric: metric, Platform: platform, Median: median, N: 1,
			Effect: &Effect{Verdict: Refused, Why: why, Words: "no statement: " + why, Caution: caution}}
	}
	base := Row{Metric: metric, Platform: "native", Baseline: true, Median: 400, N: 1}
	plan := &bench.Plan{Baseline: "native"}
	for want, rows := range map[string][]Row{
		"No statement, only medians: native 400 events/s, lxc 390 events/s, qemu-tcg 41 events/s [emulated]. The reason: too few.": {
			base, refused("lxc", 390, "too few", ""), refused("qemu-tcg", 41, "too few", "emulated")},
		"Against native (400 events/s): lxc: no statement: too few; docker: no statement: a zero.": {
			base, refused("lxc", 390, "too few", ""), refused("docker", 380, "a zero", "")},
	} {
		if got := answer(&Case{Rows: rows}, plan); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestUndecidedNamesItsMetricOnce(t *testing.T) {
	e := &Effect{Verdict: Inconclusive, Ratio: 1, Low: 0.96, High: 1.05}
	for want, m := range map[string]bench.Metric{
		"undecided: latency p95 from 4.0 % lower to 5.0 % higher":     {Name: "latency_p95", Unit: "ms", Better: bench.LowerIsBetter},
		"undecided: from 4.0 % slower to 5.0 % faster":                {Name: "throughput", Unit: "events/s", Better: bench.HigherIsBetter},
		"undecided: first command from 4.0 % shorter to 5.0 % longer": {Name: "first_command", Unit: "ms", Better: bench.LowerIsBetter},
	} {
		if got := words(e, m, 0.03); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
