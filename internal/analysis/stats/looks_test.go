package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
)

func TestLooks(t *testing.T) {
	for _, c := range []struct {
		min, max int
		want     []int
	}{
		{5, 30, []int{5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 18, 20, 22, 25, 28, 30}},
		{3, 10, []int{3, 4, 5, 6, 7, 8, 9, 10}},
		{100, 150, []int{100, 114, 130, 148, 150}},
		{5, 7, []int{5, 6, 7}},
		{5, 5, []int{5}},
		{5, 4, nil}, {0, 4, nil}, {-2, -1, nil},
	} {
		if got := Looks(c.min, c.max); !slices.Equal(got, c.want) {
			t.Errorf("%d to %d: %v, want %v", c.min, c.max, got, c.want)
		}
	}
}

func TestLooksAscendFromMinToMax(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.IntRange(1, 1000).Draw(t, "min")
		high := low + rapid.IntRange(0, 10_000).Draw(t, "more")
		looks := Looks(low, high)
		for k := 1; k < len(looks); k++ {
			if looks[k] <= looks[k-1] {
				t.Fatalf("%v", looks)
			}
		}
		if len(looks) > 70 || looks[0] != low || looks[len(looks)-1] != high {
			t.Fatalf("%d to %d: %v", low, high, looks)
		}
	})
}

func TestLevelsOf(t *testing.T) {
	for _, c := range []struct {
		looks int
		want  Levels
	}{
		{1, Levels{0.95, 0.95}}, {0, Levels{0.95, 0.95}}, {2, Levels{0.98, 0.9975}}, {17, Levels{0.98, 0.9975}},
	} {
		if got := LevelsOf(c.looks, 0.95); math.Abs(got.Usual-c.want.Usual) > 1e-15 || math.Abs(got.Strict-c.want.Strict) > 1e-15 {
			t.Errorf("%d looks: %v, want %v", c.looks, got, c.want)
		}
	}
}

// What the rule promises of normal values, whatever the margin, the width wanted
// and the truth are, all in standard deviations of a block's ratio: the interval
// reported holds the truth in 95 %, two that are alike are called different in at
// most 5 %, and two that differ by the margin are called equivalent in at most
// 2.5 %. Student's interval of normal values is the narrowest that RatioInterval ever
// gives: what holds of it holds of that. With -v it prints the blocks it took
// beside the fixed number for which the width is known to be expected.
func TestLevelsSuffice(t *testing.T) {
	n := float64(*experiments)
	bound := func(p float64) float64 { return 3 * math.Sqrt(p*(1-p)/n) }
	for _, looks := range [][]int{Looks(4, 60), Looks(3, 60), Looks(5, 30), Looks(3, 30), Looks(3, 10), Looks(10, 30), Looks(5, 200), {5, 8, 12, 19, 30}} {
		levels := LevelsOf(len(looks), 0.95)
		usual, strict := reaches(looks, levels.Usual), reaches(looks, levels.Strict)
		worst := [3]float64{1, 0, 0}
		for _, margin := range []float64{0.5, 1, 2, 4} {
			for _, wanted := range []float64{0.5, 1, 2} { // of the margin
				for _, truth := range []float64{0, 0.5, 1, 1.5, 3} { // of the margin
					rng := rand.New(rand.NewPCG(5, math.Float64bits(margin*wanted)^math.Float64bits(truth)))
					var hit, differs, equivalent, blocks float64
					for range *experiments {
						mean, half, took := stopped(rng, looks, usual, strict, margin*truth, margin, margin*wanted)
						blocks += float64(took)
						if math.Abs(mean-margin*truth) <= half {
							hit++
						}
						switch {
						case math.Abs(mean)+half <= margin:
							equivalent++
						case math.Abs(mean) > half:
							differs++
						}
					}
					what := fmt.Sprintf("looks %d to %d, margin %g sd, wanted %g sd, truth %g sd", looks[0], looks[len(looks)-1], margin, margin*wanted, margin*truth)
					t.Logf("%s: covered %.1f %%, differs %.1f %%, equivalent %.1f %%; %.1f blocks, fixed %d",
						what, 100*hit/n, 100*differs/n, 100*equivalent/n, blocks/n, known(margin*wanted))
					worst[0] = min(worst[0], hit/n)
					if least := 0.95 - bound(0.95); hit/n < least {
						t.Errorf("%s: covered %.2f %%, want at least %.2f", what, 100*hit/n, 100*least)
					}
					if truth == 0 {
						worst[1] = max(worst[1], differs/n)
						if differs/n > 0.05+bound(0.05) {
							t.Errorf("%s: alike, and different in %.2f %%", what, 100*differs/n)
						}
					}
					if truth == 1 {
						worst[2] = max(worst[2], equivalent/n)
						if equivalent/n > 0.025+bound(0.025) {
							t.Errorf("%s: apart by the margin, and equivalent in %.2f %%", what, 100*equivalent/n)
						}
					}
				}
			}
		}
		t.Logf("| %d to %d | %.1f %% | %.1f %% | %.1f %% |", looks[0], looks[len(looks)-1], 100*worst[0], 100*worst[1], 100*worst[2])
	}
}

// reaches are those of Student's interval at each look, in standard deviations.
func reaches(looks []int, level float64) []float64 {
	out := make([]float64, len(looks))
	for k, n := range looks {
		out[k] = distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}.Quantile(1-(1-level)/2) / math.Sqrt(float64(n))
	}
	return out
}

// stopped draws normal values until the rule ends at a look, and returns the
// middle and the half width of the interval reported, and how many values that took.
func stopped(rng *rand.Rand, looks []int, usual, strict []float64, truth, margin, wanted float64) (mean, half float64, n int) {
	var sum, squares float64
	for k, look := range looks {
		for ; n < look; n++ {
			v := truth + rng.NormFloat64()
			sum += v
			squares += v * v
		}
		mean = sum / float64(n)
		sd := math.Sqrt((squares - sum*mean) / float64(n-1))
		if half = usual[k] * sd; half <= wanted {
			break
		}
		if decided := strict[k] * sd; math.Abs(mean) > decided || math.Abs(mean)+decided <= margin {
			return mean, decided, n
		}
	}
	return mean, half, n
}

// known is the fewest normal values of a known standard deviation whose 95 %
// interval is expected to be as narrow.
func known(wanted float64) int {
	n := 2
	for reach := math.Inf(1); reach > wanted; {
		n++
		reach = distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}.Quantile(0.975) / math.Sqrt(float64(n))
	}
	return n
}
