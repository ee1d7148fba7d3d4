package effect

import (
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tare/internal/analysis/stats"
	"tare/internal/bench"
	"tare/internal/result"
)

// go test ./internal/analysis/effect -run Verdicts -v -simulations 2000 prints the
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

// Of identical platforms that share one launch of the baseline, at least one is said to
// differ in no more than 5 % of experiments, up to what 5 % comes to by chance.
func TestFamilyOfIdenticalPlatforms(t *testing.T) {
	n := float64(*simulations)
	most := 0.05 + 3*math.Sqrt(0.05*0.95/n)
	for _, blocks := range []int{3, 5, 10} {
		rng := rand.New(rand.NewPCG(11, uint64(blocks)))
		alone, corrected := 0.0, 0.0
		for range *simulations {
			points := make([][]result.Point, 5)
			for p := range points {
				for b := range blocks {
					points[p] = append(points[p], result.Point{Block: b + 1, Value: math.Exp(0.03 * rng.NormFloat64())})
				}
			}
			var family []*result.Effect
			for _, own := range points[1:] {
				family = append(family, Of(own, points[0], Terms{Level: Confidence, Margin: 0.01}))
			}
			differs := func(e *result.Effect) bool { return e.Verdict == result.Differs }
			if slices.ContainsFunc(family, differs) {
				alone++
			}
			if Family(family, "the 4"); slices.ContainsFunc(family, differs) {
				corrected++
			}
		}
		t.Logf("| %d | %.1f %% | %.1f %% |", blocks, 100*alone/n, 100*corrected/n)
		if corrected/n > most {
			t.Errorf("%d blocks: one of four identical platforms differs in %.1f %%, want at most %.1f", blocks, 100*corrected/n, 100*most)
		}
	}
}

func TestFamilyTakesBackADifference(t *testing.T) {
	p := func(v float64) *float64 { return &v }
	family := []*result.Effect{
		{Verdict: result.Differs, Confidence: 0.95, PInterval: p(0.001)},
		{Verdict: result.Differs, Confidence: 0.95, PInterval: p(0.04)},
		{Verdict: result.Inconclusive, Confidence: 0.95, PInterval: p(0.9)},
		{Verdict: result.Differs, Confidence: 0.9975, PInterval: p(0.0011)}, // scaled to 0.022
		{Verdict: result.Refused},
		{Verdict: result.Equivalent, Confidence: 0.95, PInterval: p(0.01)},
	}
	Family(family, "the 5 platforms compared with native")
	want := []result.Verdict{result.Differs, result.Inconclusive, result.Inconclusive, result.Inconclusive, result.Refused, result.Equivalent}
	for i, e := range family {
		if e.Verdict != want[i] {
			t.Errorf("%d: %s, want %s (%v)", i, e.Verdict, want[i], e.PFamily)
		}
	}
	if got := family[1].Why; got != "alone it would differ, but not among the 5 platforms compared with native (p = 0.08)" {
		t.Errorf("why: %s", got)
	}
	if family[4].PFamily != nil || math.Abs(*family[0].PFamily-0.005) > 1e-12 {
		t.Errorf("p of the refused %v, of the first %v", family[4].PFamily, *family[0].PFamily)
	}
}

// Two sides count as equivalent without reserve only once launches that behave
// otherwise are ruled out. The platform is half as slow again in 10 % of its launches.
func TestEquivalentOfTypicalLaunches(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	for _, c := range []struct {
		blocks int
		rare   float64
	}{{3, 0}, {5, 0}, {10, 0}, {29, 0}, {29, 0.05}, {60, 0.05}} {
		said, reserved := 0, 0
		for range 200 {
			var own, base []result.Point
			for b := range c.blocks {
				v := math.Exp(0.01 * rng.NormFloat64())
				if rng.Float64() < 0.1 {
					v *= 1.5
				}
				own = append(own, result.Point{Block: b + 1, Value: v})
				base = append(base, result.Point{Block: b + 1, Value: math.Exp(0.01 * rng.NormFloat64())})
			}
			switch e := Of(own, base, Terms{Level: Confidence, Margin: 0.03, Rare: c.rare}); {
			case e.Verdict == result.Equivalent && e.Typical:
				reserved++
			case e.Verdict == result.Equivalent:
				said++
			}
		}
		t.Logf("%d blocks, rare %g: equivalent in %.1f %%, for typical launches in %.1f %%", c.blocks, c.rare, float64(said)/2, float64(reserved)/2)
		if float64(said)/200 > 0.05 {
			t.Errorf("%d blocks: called equivalent without reserve in %d of 200", c.blocks, said)
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

var terms = Terms{Better: bench.HigherIsBetter, Level: Confidence, Margin: 0.03, Pair: "pair of finished launches"}

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
		"no pair of finished launches; an interval needs at least 2":     nil,
		"only 1 pair of finished launches; an interval needs at least 2": {90},
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

// One launch in ten takes twice as long: the geometric mean says 7 %, all of them together 10 %.
func TestRatioOfTotalsCountsSlowLaunchesInFull(t *testing.T) {
	own, base := make([]float64, 10), make([]float64, 10)
	for i := range own {
		own[i], base[i] = 100, 100
	}
	own[4] = 200
	e := Of(points(own...), points(base...), terms)
	if math.Abs(e.OfTotals-1.1) > 1e-12 || math.Abs(e.Ratio-math.Pow(2, 0.1)) > 1e-12 {
		t.Errorf("%+v", e)
	}
	// Only blocks with both count, each with its weight.
	if e := Of(points(90, 300), points(100, 200, 1000), terms); math.Abs(e.OfTotals-1.3) > 1e-12 || e.N != 2 {
		t.Errorf("%+v", e)
	}
	if Refuse(e, "no"); e.OfTotals != 0 {
		t.Errorf("%+v", e)
	}
}

func TestAZeroLeavesNoRatio(t *testing.T) {
	for _, c := range []struct {
		own, base []float64
		n         int
		want      string
	}{
		{[]float64{90, 0, 9.1}, []float64{100, 1000, 10}, 3, "launch b gave 0, which has no ratio (so in 1 of 3 blocks)"},
		{[]float64{0, 0, 0, 0}, []float64{100, 0, 10}, 3, "launch a gave 0, which has no ratio (so in 3 of 3 blocks)"},
		{[]float64{90, 91}, []float64{100, -3, 10}, 2, "launch b gave -3, which has no ratio (so in 1 of 2 blocks)"},
		{[]float64{90, math.Inf(1), 0}, []float64{100, 1000, 10}, 3, "launch b gave +Inf, which has no ratio (so in 2 of 3 blocks)"},
		{[]float64{1e-300, 1, 1}, []float64{1e300, 1, 1}, 3, "ratio of block 1: 1e-300 / 1e+300: value out of domain"},
	} {
		if e := Of(points(c.own...), points(c.base...), terms); e.Verdict != result.Refused || e.Why != c.want || e.N != c.n || e.Ratio != 0 || len(e.Ratios) != 0 {
			t.Errorf("%v against %v: %+v, want %q", c.own, c.base, e, c.want)
		}
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

// What is added is the mean difference by block, and by the ratio where the difference would take back
// what the ratio says.
func TestAdded(t *testing.T) {
	points := func(values ...float64) (all []result.Point) {
		for i, v := range values {
			all = append(all, result.Point{Block: i + 1, Value: v})
		}
		return all
	}
	terms := Terms{Better: bench.LowerIsBetter, Level: 0.95, Margin: 0.03, Adds: true}
	e := Of(points(19, 20, 22, 19), points(5, 5.5, 5.2, 4.9), terms)
	if e.Added == nil || math.Abs(e.Added.Mean-14.85) > 1e-9 || e.Added.Low > 14 || e.Added.Low < 10 || e.Added.High < 15.5 || e.Added.High > 20 {
		t.Errorf("%+v", e.Added)
	}
	if e := Of(points(19, 20), points(5, 5.5), terms); e.Added == nil || math.Abs(e.Added.Low-5.25*(e.Low-1)) > 1e-9 {
		t.Errorf("of two blocks that differ: %+v", e.Added)
	}
	if e := Of(points(5, 7), points(5, 5.5), terms); e.Verdict != result.Inconclusive || e.Added == nil || e.Added.Low >= 0 || math.Abs(e.Added.High-5.25*(e.High-1)) > 1e-9 {
		t.Errorf("of two blocks that do not: %+v", e.Added)
	}
	terms.Level = 0.999
	e = Of(points(19, 40, 80), points(1, 1.8, 4.3), terms)
	if mean := (1 + 1.8 + 4.3) / 3; e.Verdict != result.Differs || e.Added == nil || e.Added.Low <= 0 || math.Abs(e.Added.Low-mean*(e.Low-1)) > 1e-9 ||
		math.Abs(e.Added.Mean-mean*(e.Ratio-1)) > 1e-9 || math.Abs(e.Added.High-mean*(e.High-1)) > 1e-9 {
		t.Errorf("%s, %+v", e.Verdict, e.Added)
	}
	terms.Adds = false
	if e := Of(points(19, 20, 22, 19), points(5, 5.5, 5.2, 4.9), terms); e.Added != nil {
		t.Errorf("of a metric nothing adds to: %+v", e.Added)
	}
}
