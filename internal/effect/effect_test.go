package effect

import (
	"flag"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/result"
	"tare/internal/stats"
)

// go test ./internal/effect -run Verdicts -v -simulations 2000 prints the
// table of docs/methodology/statistics.md.
var simulations = flag.Int("simulations", 120, "simulated experiments per row of the table of verdicts")

// How often each verdict falls, by the truth, the noise of a block's ratio and
// the number of blocks, at a margin of 3 %.
func TestVerdictsOfSimulatedExperiments(t *testing.T) {
	for _, truth := range []float64{1, 0.98, 0.93} {
		for _, sd := range []float64{0.005, 0.01, 0.03} {
			for _, n := range []int{3, 5, 10} {
				rng := rand.New(rand.NewPCG(7, uint64(n)))
				count := map[result.Verdict]int{}
				for range *simulations {
					x := make([]float64, n)
					for i := range x {
						x[i] = truth * math.Exp(sd*rng.NormFloat64())
					}
					interval, err := stats.RatioInterval(x, Confidence)
					if err != nil {
						t.Fatal(err)
					}
					count[Verdict(interval, 0.03)]++
				}
				share := func(v result.Verdict) float64 { return 100 * float64(count[v]) / float64(*simulations) }
				t.Logf("| %.2f | %.1f %% | %2d | %3.0f %% | %3.0f %% | %3.0f %% |", truth, 100*sd, n, share(result.Differs), share(result.Equivalent), share(result.Inconclusive))
				if truth == 1 && share(result.Differs) > 9 {
					t.Errorf("noise %g, %d blocks: identical platforms were said to differ in %.0f %% of experiments", sd, n, share(result.Differs))
				}
				if truth == 0.93 && share(result.Equivalent) > 0.5 {
					t.Errorf("noise %g, %d blocks: platforms 7 %% apart were said to be equivalent in %.1f %%", sd, n, share(result.Equivalent))
				}
			}
		}
	}
}

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      result.Verdict
	}{
		{0.97, 1.03, result.Equivalent}, {0.98, 0.99, result.Equivalent}, // sure, and too small to matter
		{0.969, 1.03, result.Inconclusive}, {0.9, 1.1, result.Inconclusive}, {0.96, 1, result.Inconclusive},
		{0.96, 0.999, result.Differs}, {0.5, 0.6, result.Differs}, {1.001, 1.031, result.Differs}, {1.2, 9, result.Differs}, {1, 1, result.Equivalent},
	} {
		if got := Verdict(stats.Interval{Low: c.low, High: c.high}, 0.03); got != c.want {
			t.Errorf("%g to %g: %s, want %s", c.low, c.high, got, c.want)
		}
	}
}

func TestAnUnsupportedDifferenceSaysSo(t *testing.T) {
	p := func(v float64) *float64 { return &v }
	for _, c := range []struct {
		e     result.Effect
		tests int
		want  string
	}{
		{result.Effect{Verdict: result.Differs, N: 6, Holm: p(0.03)}, 1, ""},
		{result.Effect{Verdict: result.Differs, N: 5, Holm: p(0.6)}, 10, ""}, // cannot tell at any ratio
		{result.Effect{Verdict: result.Inconclusive, N: 9, Holm: p(0.6)}, 10, ""},
		{result.Effect{Verdict: result.Differs, N: 6, Holm: p(0.31)}, 10, "6 blocks are too few for the permutation test to bear it out among 10 comparisons (p = 0.31)"},
		{result.Effect{Verdict: result.Differs, N: 12, Holm: p(0.08)}, 10, "the permutation test, corrected for 10 comparisons, does not bear it out (p = 0.08)"},
	} {
		if got := unsupported(&c.e, c.tests); got != c.want {
			t.Errorf("%+v: %q, want %q", c.e, got, c.want)
		}
	}
}

func points(values ...float64) []result.Point {
	var out []result.Point
	for i, v := range values {
		out = append(out, result.Point{Block: i + 1, Trial: string(rune('a' + i)), Value: v})
	}
	return out
}

var terms = Terms{Better: bench.HigherIsBetter, Level: Confidence, Margin: 0.03, Pair: "in which both finished"}

func TestTheFewestPairsHaveAnInterval(t *testing.T) {
	base := points(100, 1000, 10, 50)
	e := Of(points(90, 920, 9.1), base, terms)
	if e.Verdict != result.Differs || e.N != 3 || e.Ratios[1] != (result.Point{Block: 2, Trial: "b", Value: 0.92}) || e.Low == 0 || e.Confidence != Confidence || e.Why != "" {
		t.Errorf("%+v", e)
	}
	if Doubt(e, 4); e.Why != "3 of 4 blocks have both" {
		t.Error(e.Why)
	}
	for want, values := range map[string][]float64{
		"no block in which both finished; an interval needs at least 3":      nil,
		"only 1 block in which both finished; an interval needs at least 3":  {90},
		"only 2 blocks in which both finished; an interval needs at least 3": {90, 920},
	} {
		e := Of(points(values...), base, terms)
		if Test(e, 0.03); e.Why != want || e.Verdict != result.Refused || e.Low != 0 || e.Ratios == nil || e.P != nil {
			t.Errorf("%+v, want %q", e, want)
		}
		if Doubt(e, 4); e.Why != want || (e.Ratio > 0) != (len(values) > 0) {
			t.Errorf("%+v", e)
		}
	}
}

func TestAZeroLeavesNoRatio(t *testing.T) {
	if e := Of(points(90, 0, 9.1), points(100, 1000, 10), terms); e.Verdict != result.Refused || !strings.Contains(e.Why, "block 2: 0 / 1000") || e.Ratio != 0 {
		t.Errorf("%+v", e)
	}
}

func TestWidenGivesTheVerdictAnew(t *testing.T) {
	e := Of(points(95, 96, 95.5), points(100, 100, 100), terms)
	low, high := e.Low, e.High
	if e.Verdict != result.Differs {
		t.Fatalf("%+v", e)
	}
	if Widen(e, 0.9, 1.1, 0.03); e.Verdict != result.Inconclusive || e.Low != low*0.9 || e.High != high*1.1 {
		t.Errorf("%+v", e)
	}
}
