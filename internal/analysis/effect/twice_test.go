package effect

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/result"
)

func pointsFrom(first int, values ...float64) (out []result.Point) {
	for i, v := range values {
		out = append(out, result.Point{Block: first + i, Trial: "t", Value: v})
	}
	return out
}

// A base of two launches in a block counts as their geometric mean; where one is missing, as the other.
func TestABaseMeasuredTwice(t *testing.T) {
	base := append(pointsFrom(1, 100, 100, 100), pointsFrom(2, 121, 100, 81)...) // the second has no block 1
	e := Of(pointsFrom(1, 50, 110, 100, 90), base, Terms{Better: bench.HigherIsBetter, Level: Confidence, Margin: 0.03})
	for i, want := range []float64{0.5, 1, 1, 90. / 81} {
		if got := e.Ratios[i]; got.Block != i+1 || math.Abs(got.Value-want) > 1e-12 {
			t.Errorf("block %d: %+v, want %g", i+1, got, want)
		}
	}
	if want := (50. + 110 + 100 + 90) / (100 + 110.5 + 100 + 81); math.Abs(e.OfTotals-want) > 1e-12 {
		t.Errorf("totals %g, want %g", e.OfTotals, want)
	}
	e = Of(pointsFrom(1, 50, 110), append(pointsFrom(1, 100, 100), pointsFrom(1, 100, 0)...), Terms{Level: Confidence, Margin: 0.03})
	if e.HasRatio() || !strings.Contains(e.Why, "gave 0, which has no ratio (so in 1 of 2 blocks)") {
		t.Errorf("%+v", e)
	}
}

// With a second launch of the baseline a platform's log ratio has 1 + 1/2 of a launch's variance,
// with one 1 + 1, and the interval holds the truth as often. Launches of a block share what the
// host does to it.
func TestASecondLaunchOfTheBaselineTellsMore(t *testing.T) {
	const sd = 0.03
	experiments := max(500, *simulations)
	for _, n := range []int{3, 4, 5, 10} {
		var squares, held, width [2]float64 // with one launch and with two
		rng := rand.New(rand.NewPCG(3, uint64(n)))
		for range experiments {
			var own, first, second []float64
			for range n {
				host := math.Exp(0.1 * rng.NormFloat64())
				launch := func() float64 { return host * math.Exp(sd*rng.NormFloat64()) }
				own, first, second = append(own, launch()), append(first, launch()), append(second, launch())
			}
			for k, base := range [][]result.Point{pointsFrom(1, first...), append(pointsFrom(1, first...), pointsFrom(1, second...)...)} {
				e := Of(pointsFrom(1, own...), base, Terms{Level: Confidence, Margin: 0.03})
				if e.Low <= 1 && 1 <= e.High {
					held[k]++
				}
				width[k] += math.Log(e.High / e.Low)
				for _, r := range e.Ratios {
					squares[k] += math.Pow(math.Log(r.Value)/sd, 2)
				}
			}
		}
		for k, want := range []float64{2, 1.5} {
			variance, share := squares[k]/float64(n*experiments), held[k]/float64(experiments)
			t.Logf("%d blocks, baseline launched %d x: variance %.3f of a launch's, holds the truth in %.1f %%, widths %.2f of one launch's", n, k+1, variance, 100*share, width[k]/width[0])
			if math.Abs(variance/want-1) > 0.1 {
				t.Errorf("%d blocks, baseline launched %d x: variance %.3f, want %g", n, k+1, variance, want)
			}
			if share < 0.93 {
				t.Errorf("%d blocks, baseline launched %d x: holds the truth in %.1f %%", n, k+1, 100*share)
			}
		}
	}
}
