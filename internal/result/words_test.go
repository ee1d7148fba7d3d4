package result

import (
	"testing"

	"tare/internal/bench"
)

func TestAnswerSaysACommonRefusalOnce(t *testing.T) {
	metric := bench.Metric{Name: "throughput", Unit: "events/s", Better: bench.HigherIsBetter, Headline: true}
	refused := func(platform string, median float64, why, caution string) Row {
		return Row{Metric: metric, Platform: platform, Median: median, N: 1,
			Effect: &Effect{Verdict: Refused, Why: why, Words: "not compared: " + why, Caution: caution}}
	}
	base := Row{Metric: metric, Platform: "native", Baseline: true, Median: 400, N: 1}
	for want, rows := range map[string][]Row{
		"Not compared, only medians: native 400 events/s, lxc 390 events/s, qemu-tcg 41 events/s [emulated]. The reason: too few.": {
			base, refused("lxc", 390, "too few", ""), refused("qemu-tcg", 41, "too few", "emulated")},
		"Against native (400 events/s): lxc: not compared: too few; docker: not compared: a zero.": {
			base, refused("lxc", 390, "too few", ""), refused("docker", 380, "a zero", "")},
	} {
		if got := (&Case{Rows: rows}).Say("native"); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestUndecidedNamesItsMetricOnce(t *testing.T) {
	e := &Effect{Verdict: Inconclusive, Ratio: 1, Low: 0.96, High: 1.05}
	for want, m := range map[string]bench.Metric{
		"undecided: p95 latency between 4.0 % lower and 5.0 % higher":             {Name: "p95_latency", Unit: "ms", Better: bench.LowerIsBetter},
		"undecided: between 5.0 % faster and 4.0 % slower":                        {Name: "throughput", Unit: "events/s", Better: bench.HigherIsBetter},
		"undecided: time to first command between 4.0 % shorter and 5.0 % longer": {Name: "time_to_first_command", Unit: "ms", Better: bench.LowerIsBetter},
	} {
		if got := e.Say(m, 0.03); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// What a platform adds is said in the metric's unit.
func TestAddedInWords(t *testing.T) {
	first := bench.StartupMetrics[1]
	for _, c := range []struct {
		mean, low, high float64
		v               Verdict
		want            string
	}{
		{14.23, 12.04, 16.4, Differs, "+14.2 ms (12.0 to 16.4)"},
		{-0.5, -0.71, -0.3, Differs, "-0.500 ms (-0.710 to -0.300)"},
		{303.4, 280, 1320.2, Differs, "+303 ms (280 to 1\u202f320)"},
		{0.4, -0.2, 1, Inconclusive, "undecided: between -0.200 ms and +1.00 ms"},
		{0.01, -0.02, 0.04, Equivalent, "no difference within 3 %"},
	} {
		e := &Effect{Ratio: 2, Low: 1.5, High: 3, Verdict: c.v, Added: &Added{c.mean, c.low, c.high}}
		if got := e.Say(first, 0.03); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func TestWords(t *testing.T) {
	throughput := bench.Metric{Name: "throughput", Unit: "events/s", Better: bench.HigherIsBetter}
	latency := bench.Metric{Name: "p95_latency", Unit: "ms", Better: bench.LowerIsBetter}
	iops := bench.Metric{Name: "iops", Unit: "IOPS", Better: bench.HigherIsBetter}
	score := bench.Metric{Name: "my_score", Unit: "points", Better: bench.HigherIsBetter}
	first := bench.StartupMetrics[1]
	for _, c := range []struct {
		m                bench.Metric
		low, ratio, high float64
		v                Verdict
		want             string
	}{
		{throughput, 0.907, 0.929, 0.95, Differs, "7.1 % slower (5.0 to 9.3)"},
		{iops, 1.05, 1.1, 1.2, Differs, "10.0 % faster (5.0 to 20.0)"},
		{throughput, 2.1, 2.3, 2.5, Differs, "2.3 times as fast (2.1 to 2.5)"},
		{throughput, 1.9, 2.3, 2.6, Differs, "2.3 times as fast (1.9 to 2.6)"},
		{throughput, 1.5, 1.9, 2.2, Differs, "90.0 % faster (50.0 % faster to 2.2 times as fast)"},
		{throughput, 0.1, 0.11, 0.12, Differs, "89.0 % slower (88.0 to 90.0)"},
		{latency, 1.1, 1.12, 1.15, Differs, "p95 latency 12.0 % higher (10.0 to 15.0)"},
		{latency, 0.8, 0.85, 0.9, Differs, "p95 latency 15.0 % lower (10.0 to 20.0)"},
		{first, 41.9, 42.8, 123.4, Differs, "time to first command 42.8 times as long (41.9 to 123)"},
		{first, 1.1, 1.2, 1.3, Differs, "time to first command 20.0 % longer (10.0 to 30.0)"},
		{score, 0.8, 0.85, 0.9, Differs, "my score 15.0 % lower (10.0 to 20.0)"},
		{throughput, 0.98, 0.99, 1.01, Equivalent, "no difference within 3 %"},
		{throughput, 0.961, 1, 1.004, Inconclusive, "undecided: at most 3.9 % slower"},
		{throughput, 0.98, 1.01, 1.041, Inconclusive, "undecided: at most 4.1 % faster"},
		{throughput, 0.95, 1, 1.04, Inconclusive, "undecided: between 4.0 % faster and 5.0 % slower"},
		{throughput, 0.0045, 0.0049, 0.0053, Differs, "204 times slower (189 to 222)"},
		{bench.TurnMetrics[0], 0.75, 0.8, 0.85, Differs, "20.0 % slower (15.0 to 25.0)"},
		{latency, 0.9, 1, 2.5, Inconclusive, "undecided: p95 latency between 10.0 % lower and 2.5 times as high"},
	} {
		e := &Effect{Ratio: c.ratio, Low: c.low, High: c.high, Verdict: c.v}
		if got := e.Say(c.m, 0.03); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func TestRatioInWords(t *testing.T) {
	for want, e := range map[string]*Effect{
		"1.057 (1.021 to 1.094)": {Ratio: 1.057, Low: 1.021, High: 1.094, Verdict: Differs},
		"0.207 (scatters)":       {Ratio: 0.207, Low: 1e-10, High: 1e9, Verdict: Inconclusive},
		"":                       {Verdict: Refused},
	} {
		if got := e.RatioWords(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
