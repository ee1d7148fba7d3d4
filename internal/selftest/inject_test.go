package selftest

import (
	"math"
	"strings"
	"testing"

	"tare/internal/analysis/stats"
	"tare/internal/bench"
	"tare/internal/result"
)

// slowed is a platform and a second name of it that is slowed down, measured in
// the cpu case; ratio gives a block's value of the second over the first.
func slowed(slowdown float64, blocks int, ratio func(block int) float64) (*bench.Plan, func(func(*bench.Outcome, error) bool)) {
	p, outcomes := synthetic([]bench.PlatformRef{ref("native", ""), ref("native", "cpu5")}, blocks, func(platform, block int) float64 {
		v := 100 * (1 + float64(block%3)) // drift that pairing takes out
		if platform == 1 {
			v *= ratio(block)
		}
		return v
	})
	p.Scenes[1].Actors = []bench.Actor{{Injection: &bench.Injection{CPU: slowdown}}}
	return p, outcomes
}

// wiggle is of mean zero over any five blocks.
func wiggle(block int) float64 { return math.Exp(0.002 * float64(block%5-2)) }

func TestInjectReplaysRunsThatShareNoBlock(t *testing.T) {
	// Calm for 10 blocks, then so noisy that no look finds the interval narrow.
	p, outcomes := slowed(0.05, 42, func(b int) float64 {
		if b > 10 {
			return 0.95 * math.Exp(0.3*float64(b%2*2-1))
		}
		return 0.95 * wiggle(b)
	})
	in, err := EvaluateInject(p, outcomes)
	if err != nil {
		t.Fatal(err)
	}
	var spans [][2]int
	for _, c := range in.Runs {
		spans = append(spans, c.Blocks)
	}
	if want := [][2]int{{1, 5}, {6, 10}, {11, 40}}; len(spans) != 3 || spans[0] != want[0] || spans[1] != want[1] || spans[2] != want[2] {
		t.Fatalf("runs of blocks %v, want %v: the last two blocks decide nothing", spans, want)
	}
	r := in.Rows[0]
	if r.Found.K != 2 || r.Found.N != 3 || r.Significant.K != 2 || r.Covered.K != 3 || r.Wrong != 0 || r.Truth != 0.95 || r.Blocks != 40./3 {
		t.Errorf("%+v", r)
	}
	// The interval is that of the look, wider than one looked at once.
	once, err := stats.RatioInterval([]float64{0.95 * wiggle(1), 0.95 * wiggle(2), 0.95 * wiggle(3), 0.95 * wiggle(4), 0.95 * wiggle(5)}, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	if c := in.Runs[0]; c.High-c.Low <= once.High-once.Low || c.Verdict != result.Differs {
		t.Errorf("%+v, looked at once %+v", c, once)
	}
}

func TestInjectCountsByDirectionAndTruth(t *testing.T) {
	for _, c := range []struct {
		name                                     string
		slowdown, ratio                          float64
		found, significant, covered, wrong, runs int
	}{
		{"as injected", 0.05, 0.95, 2, 2, 2, 0, 2},
		{"small: surely there, but within the margin", 0.02, 0.98, 0, 2, 2, 0, 2},
		{"half of it arrives: found, not held", 0.20, 0.90, 2, 2, 0, 0, 2},
		{"faster instead", 0.05, 1.05, 0, 0, 0, 2, 2},
		{"nothing arrives", 0.05, 1, 0, 0, 0, 0, 2},
	} {
		p, outcomes := slowed(c.slowdown, 10, func(b int) float64 { return c.ratio * wiggle(b) })
		in, err := EvaluateInject(p, outcomes)
		if err != nil {
			t.Fatal(err)
		}
		r := in.Rows[0]
		if r.Found.K != c.found || r.Significant.K != c.significant || r.Covered.K != c.covered || r.Wrong != c.wrong || r.Runs != c.runs {
			t.Errorf("%s: %+v", c.name, r)
		}
		if want := c.ratio/(1-c.slowdown) - 1; r.Bias == nil || math.Abs(r.Bias.Mid-want) > 1e-9 {
			t.Errorf("%s: bias %+v, want %g", c.name, r.Bias, want)
		}
	}
}

func TestInjectCountsFailedLaunchesAsNotFound(t *testing.T) {
	p, outcomes := slowed(0.10, 30, func(b int) float64 {
		if b > 1 {
			return math.NaN()
		}
		return 0.9 * wiggle(b)
	})
	in, err := EvaluateInject(p, outcomes)
	if err != nil {
		t.Fatal(err)
	}
	if r := in.Rows[0]; r.Runs != 1 || r.Refused != 1 || r.Found.K != 0 || r.Found.N != 1 || in.Runs[0].Why == "" {
		t.Errorf("%+v", r)
	}
	if f := in.Finding(); f.Claims[1].Held != No || !strings.Contains(f.Tables[0].Rows[0][5], "1 without an interval") {
		t.Errorf("%+v", f)
	}
}

// A run that was stopped within a block is not looked at there.
func TestInjectEndsBeforeABlockThatIsNotWhole(t *testing.T) {
	p, all := slowed(0.05, 5, func(b int) float64 { return 0.95 * wiggle(b) })
	in, err := EvaluateInject(p, func(yield func(*bench.Outcome, error) bool) {
		for o, err := range all {
			if o.Block == 5 && o.Scene == p.Scenes[1].ID {
				o.Status, o.Values = bench.Aborted, nil
			}
			if !yield(o, err) {
				return
			}
		}
	})
	if err != nil || len(in.Runs) != 0 {
		t.Errorf("%+v, %v", in, err)
	}
}

func TestInjectClaims(t *testing.T) {
	row := func(slowdown float64, k, n int, bias Estimate) InjectRow {
		return InjectRow{Case: "cpu", Slowdown: slowdown, Runs: n, Found: proportion(k, n), Bias: &bias}
	}
	tight, off := Estimate{Mid: 0.001, Low: -0.002, High: 0.004}, Estimate{Mid: -0.02, Low: -0.03, High: -0.011}
	vague := Estimate{Mid: 0.004, Low: -0.002, High: 0.012}
	for _, c := range []struct {
		name     string
		rows     []InjectRow
		want     [3]Held
		complete bool
	}{
		{"nothing", nil, [3]Held{Open, Open, Open}, false},
		{"all found", []InjectRow{row(0.05, 36, 36, tight), row(0.1, 36, 36, tight)}, [3]Held{Yes, Yes, Yes}, true},
		{"few runs", []InjectRow{row(0.05, 20, 20, tight), row(0.1, 20, 20, vague)}, [3]Held{Open, Open, Open}, false},
		{"over platforms", []InjectRow{row(0.05, 18, 18, tight), row(0.05, 18, 18, tight), row(0.1, 35, 36, off)}, [3]Held{Yes, No, No}, true},
		{"half found", []InjectRow{row(0.05, 18, 36, tight)}, [3]Held{No, Open, Yes}, true},
		{"other slowdowns do not count", []InjectRow{row(0.02, 0, 36, tight)}, [3]Held{Open, Open, Yes}, false},
	} {
		f := (&Inject{Rule: Rule(), Rows: c.rows}).Finding()
		for i, want := range c.want {
			if f.Claims[i].Held != want {
				t.Errorf("%s: %+v, want %s", c.name, f.Claims[i], want)
			}
		}
		if f.Complete != c.complete || f.Complete != (f.Short == "") {
			t.Errorf("%s: complete %v, %q", c.name, f.Complete, f.Short)
		}
	}
}

func TestInjectSaysWhatItFoundByCase(t *testing.T) {
	in := &Inject{Rows: []InjectRow{{Case: "disk", Slowdown: 0.05, Found: proportion(1, 2)}, {Case: "cpu", Slowdown: 0.05, Found: proportion(3, 3)},
		{Case: "cpu", Slowdown: 0.10, Found: proportion(4, 4)}}}
	if got := in.words(0.05); got != "4 of 5 (28.4-99.5 %): cpu 3 of 3, disk 1 of 2" {
		t.Error(got)
	}
	if got := in.words(0.10); got != "4 of 4 (39.8-100.0 %)" {
		t.Error(got)
	}
}

func TestEveryMechanismIsKnown(t *testing.T) {
	for _, n := range InjectCases() {
		m, ok := mechanisms[n]
		if !ok || m.truth(0.05) == 1 || math.Abs(m.truth(0.05)-1) > 0.0501 || m.says == "" {
			t.Errorf("%s: %+v", n, m)
		}
	}
	if len(InjectCases()) != len(mechanisms) {
		t.Error("a slowdown is not listed")
	}
	if got := slowName("cpu", 0.025); got != "cpu2-5" {
		t.Error(got)
	}
	if _, err := InjectSpec([]string{"native"}, []string{"net"}, []float64{0.05}, 5); err == nil {
		t.Error("an unknown case was taken")
	}
}
