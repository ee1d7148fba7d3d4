package overhead

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"

	"tare/internal/result"
	"tare/internal/stats"
)

// go test ./internal/overhead -run Verdicts -v -simulations 2000 prints the
// table of docs/METHODOLOGY.md.
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
					interval, err := stats.RatioInterval(x, confidence)
					if err != nil {
						t.Fatal(err)
					}
					count[verdict(interval, 0.03)]++
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
