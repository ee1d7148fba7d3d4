package overhead

import (
	"math"
	"slices"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/stats"
	"tare/internal/store"
)

var nan = math.NaN()

func approx(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9*max(1, math.Abs(want))) {
		t.Errorf("%s: got %.12g, want %.12g", what, got, want)
	}
}

func TestEffectIsPairedByBlock(t *testing.T) {
	// Ratios 0.9, 0.92, 0.91 whatever the host's drift between blocks.
	result := analyze(t, crafted{metric: throughput, platform: []string{"native", "lxc"}, blocks: 3,
		values: map[string][]float64{"native": {100, 1000, 10}, "lxc": {90, 920, 9.1}}}.write(t))
	e := result.Cases[0].Rows[1].Effect
	want := math.Pow(0.9*0.92*0.91, 1.0/3)
	approx(t, "ratio", e.Ratio, want)
	approx(t, "overhead (equation 1, signed)", e.Overhead, want-1)
	approx(t, "cost", e.Cost, 1-want)
	interval, _ := stats.RatioInterval([]float64{0.9, 0.92, 0.91}, 0.95)
	approx(t, "low", e.Low, interval.Low)
	approx(t, "high", e.High, interval.High)
	if e.Verdict != Differs || e.N != 3 || len(e.Ratios) != 3 || e.Ratios[1].Trial != "b02-lxc" || e.Why != "" {
		t.Errorf("%+v", e)
	}
	if e.Words != "9.0 % slower (6.5 to 11.5)" {
		t.Error(e.Words)
	}
	if a := result.Cases[0].Answer; a != "Against native (100 events/s): lxc: 9.0 % slower (6.5 to 11.5)." {
		t.Error(a)
	}
	if !result.Complete || result.Trials != (Counts{Planned: 6, Done: 6}) {
		t.Errorf("%+v", result.Trials)
	}
	if result.Cases[0].Rows[0].Effect != nil || !result.Cases[0].Rows[0].Baseline || result.Cases[0].Resource != "cpu" {
		t.Errorf("%+v", result.Cases[0])
	}
}

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      Verdict
	}{
		{0.97, 1.03, Equivalent}, {0.98, 0.99, Equivalent}, // sure, and too small to matter
		{0.969, 1.03, Inconclusive}, {0.9, 1.1, Inconclusive}, {0.96, 1, Inconclusive},
		{0.96, 0.999, Differs}, {0.5, 0.6, Differs}, {1.001, 1.031, Differs}, {1.2, 9, Differs}, {1, 1, Equivalent},
	} {
		if got := verdict(stats.Interval{Low: c.low, High: c.high}, 0.03); got != c.want {
			t.Errorf("%g to %g: %s, want %s", c.low, c.high, got, c.want)
		}
	}
}

func TestWords(t *testing.T) {
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
		{latency, 1.1, 1.12, 1.15, Differs, "latency p95 12.0 % higher (10.0 to 15.0)"},
		{latency, 0.8, 0.85, 0.9, Differs, "latency p95 15.0 % lower (10.0 to 20.0)"},
		{first, 41.9, 42.8, 123.4, Differs, "first command 42.8 times as long (41.9 to 123)"},
		{first, 1.1, 1.2, 1.3, Differs, "first command 20.0 % longer (10.0 to 30.0)"},
		{score, 0.8, 0.85, 0.9, Differs, "my score 15.0 % lower (10.0 to 20.0)"},
		{throughput, 0.98, 0.99, 1.01, Equivalent, "no difference within 3 %"},
		{throughput, 0.961, 1, 1.004, Inconclusive, "undecided: from 3.9 % slower to 0.4 % faster"},
		{latency, 0.9, 1, 2.5, Inconclusive, "undecided: latency p95 from 10.0 % lower to 2.5 times as high"},
	} {
		e := &Effect{Ratio: c.ratio, Low: c.low, High: c.high, Verdict: c.v}
		if got := words(e, c.m, 0.03); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func TestTooFewBlocksAreRefused(t *testing.T) {
	for n, want := range map[int]string{0: "no block", 1: "only 1 block", 2: "only 2 blocks"} {
		result := analyze(t, crafted{metric: throughput, platform: []string{"native", "lxc"}, blocks: 3,
			values: map[string][]float64{"native": {100, 100, 100}, "lxc": slices.Repeat([]float64{90}, n)}}.write(t))
		row := result.Cases[0].Rows[1]
		e := row.Effect
		if e.Verdict != Refused || !strings.HasPrefix(e.Why, want+" in which both finished") || e.N != n || e.Low != 0 || e.High != 0 {
			t.Errorf("%d blocks: %+v", n, e)
		}
		if !strings.HasPrefix(e.Words, "no statement: ") || row.Missing != 3-n || result.Complete {
			t.Errorf("%d blocks: %+v", n, row)
		}
	}
}

func TestFailuresAreCountedAndListed(t *testing.T) {
	result := analyze(t, crafted{metric: throughput, platform: []string{"native", "lxc"}, blocks: 4,
		values: map[string][]float64{"native": {100, 101, 99, 100}, "lxc": {90, nan, 91, 89}}}.write(t))
	if result.Trials != (Counts{Planned: 8, Done: 7, Failed: 1}) || !result.Complete {
		t.Errorf("%+v", result.Trials)
	}
	if f := result.Failures; len(f) != 1 || f[0] != (Failure{"b02-lxc", "cpu/lxc", "lxc", "launch", "no answer", "look", "last words"}) {
		t.Errorf("%+v", f)
	}
	row := result.Cases[0].Rows[1]
	if row.Failed != 1 || row.N != 3 || !slices.Contains(row.Warnings, "1 of 4 launches failed") {
		t.Errorf("%+v", row)
	}
	if e := row.Effect; e.Verdict != Differs || e.N != 3 || e.Why != "3 of 4 blocks have both" {
		t.Errorf("%+v", e)
	}
}

func TestNothingFinished(t *testing.T) {
	none := []float64{nan, nan, nan}
	for name, c := range map[string]struct {
		native, lxc []float64
		want        string
	}{
		"the platform": {[]float64{1, 2, 3}, none, "Against native (2 events/s): lxc: no launch finished, 3 failed."},
		"the baseline": {none, []float64{1, 2, 3}, "There is nothing to compare with: native: no launch finished, 3 failed."},
		"neither":      {nil, nil, "There is nothing to compare with: native: no launch finished."},
	} {
		result := analyze(t, crafted{metric: throughput, platform: []string{"native", "lxc"}, blocks: 3,
			values: map[string][]float64{"native": c.native, "lxc": c.lxc}}.write(t))
		if got := result.Cases[0].Answer; got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestAZeroIsNoRatio(t *testing.T) {
	result := analyze(t, crafted{metric: throughput, platform: []string{"native", "lxc"}, blocks: 3,
		values: map[string][]float64{"native": {100, 101, 99}, "lxc": {90, 0, 91}}}.write(t))
	if e := result.Cases[0].Rows[1].Effect; e.Verdict != Refused || !strings.Contains(e.Why, "block 2: 0 / 101") {
		t.Errorf("%+v", e)
	}
}

func TestEmulatedWearsItsLabel(t *testing.T) {
	result := analyze(t, crafted{metric: throughput, platform: []string{"native", "qemu-tcg"}, blocks: 3,
		label:  map[string]string{"qemu-tcg": "emulated (tcg)"},
		values: map[string][]float64{"native": {100, 101, 99}, "qemu-tcg": {10, 11, 10}}}.write(t))
	row := result.Cases[0].Rows[1]
	const caution = "emulated (tcg): not a finding about virtual machines"
	if row.Label != "emulated (tcg)" || row.Effect.Caution != caution || !strings.HasSuffix(row.Effect.Words, "["+caution+"]") ||
		!strings.Contains(result.Cases[0].Answer, caution) {
		t.Errorf("%+v, %+v", row, row.Effect)
	}
}

func TestReproduce(t *testing.T) {
	c := crafted{metric: throughput, platform: []string{"native", "lxc"}, blocks: 1,
		header: store.Header{Spec: "my specs/a.yaml", Set: []string{"timing.measure=1s", "platforms=[native, kvm]", "scenes.cpu.vary.threads=[1, 2]"}}}
	want := `tare run 'my specs/a.yaml' --platforms native,lxc --set timing.measure=1s --set 'scenes.cpu.vary.threads=[1, 2]' --seed 42`
	if got := analyze(t, c.write(t)).Cases[0].Rows[1].Reproduce; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	result, err := AnalyzeWith(c.write(t), Options{Repeat: []string{"tare", "selftest", "aa", "--platforms", "docker[net=host]"}})
	if err != nil {
		t.Fatal(err)
	}
	want = "tare selftest aa --platforms 'docker[net=host]'"
	if row := result.Cases[0].Rows[1]; result.Repeat != want || row.Reproduce != want {
		t.Errorf("%q and %q, want %q", result.Repeat, row.Reproduce, want)
	}
	for in, want := range map[string]string{"docker[net=host]": "'docker[net=host]'", "": "''", "it's": `'it'\''s'`, "a=b": "a=b"} {
		if got := quote(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

func TestProcedure(t *testing.T) {
	result := analyze(t, crafted{metric: throughput, platform: []string{"native"}, blocks: 2,
		values: map[string][]float64{"native": {100, nan}}}.write(t))
	p := result.Procedure[0]
	if p.N != 1 || p.Overhead != 4 || p.Phases["measure"] != 10 || p.Phases["launch"] != 2 {
		t.Errorf("%+v", p)
	}
	approx(t, "wall seconds with pauses", result.Seconds, 2*(14+1))
}
