package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// histories are shapes of the logarithms of an experiment's ratios in the order
// of blocks, each of mean 0, in units of an ordinary launch's scatter. Only one
// side is disturbed, and always in the same direction.
var histories = []struct {
	name string
	draw func(r *rand.Rand, n int) []float64
	// from is the fewest blocks from which on the interval holds without a
	// supposition that the shape breaks; 0 for none.
	from   int
	breaks string // which supposition, where it breaks one
}{
	{"normal", each((*rand.Rand).NormFloat64), 5, ""},
	{"exponential", each(func(r *rand.Rand) float64 { return r.ExpFloat64() - 1 }), 5, ""},
	{"lognormal", each(func(r *rand.Rand) float64 { return math.Exp(r.NormFloat64()) - math.Exp(0.5) }), 5, ""},
	{"two modes, 30 % slower by 5 sd", each(slow(0.3, far(5), 5)), 5, ""},
	{"two modes, 10 % slower by 5 sd", each(slow(0.1, far(5), 5)), 5, ""},
	{"two modes, 30 % slower by 20 sd", each(slow(0.3, far(20), 20)), 10, "rare launches, below 9 blocks"},
	{"two modes, 10 % slower by 20 sd", each(slow(0.1, far(20), 20)), 30, "rare launches, below 29 blocks"},
	{"spikes in 10 % of launches, lognormal of 7 sd", each(slow(0.1, func(r *rand.Rand) float64 { return 7 * math.Exp(r.NormFloat64()-0.5) }, 7)), 0, "rare launches"},
	{"like the block before, AR(1) 0.5", resembling(0.5), 0, "independent blocks"},
	{"like the block before, AR(1) 0.8", resembling(0.8), 0, "independent blocks"},
}

func each(draw func(*rand.Rand) float64) func(*rand.Rand, int) []float64 {
	return func(r *rand.Rand, n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = draw(r)
		}
		return x
	}
}

func far(sd float64) func(*rand.Rand) float64 { return func(*rand.Rand) float64 { return sd } }

// slow moves a share of launches by what by returns, of this mean.
func slow(share float64, by func(*rand.Rand) float64, mean float64) func(*rand.Rand) float64 {
	return func(r *rand.Rand) float64 {
		v := r.NormFloat64() - share*mean
		if r.Float64() < share {
			v += by(r)
		}
		return v
	}
}

func resembling(rho float64) func(*rand.Rand, int) []float64 {
	return func(r *rand.Rand, n int) []float64 {
		x := scatter(r, n, 1)
		for i := 1; i < n; i++ {
			x[i] = rho*x[i-1] + math.Sqrt(1-rho*rho)*x[i]
		}
		return x
	}
}

// What the intervals of the rule hold under each shape: of fixed numbers of blocks at
// the level of its looks, and by the rule, 5 to 60 blocks within 3 % at a margin
// of 3 %, where an ordinary launch scatters by 3 %. Those that stand on nothing
// but what they state must hold the truth in 93 %: see [Suppositions].
func TestShapes(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates for a minute, which -short leaves out")
	}
	const resamples = 399
	n := float64(*simulations)
	least := 0.93 - 3*math.Sqrt(0.93*0.07/n)
	for _, h := range histories {
		t.Run(strings.ReplaceAll(h.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			row := "| " + h.name
			for _, blocks := range []int{5, 10, 30} {
				rng := rand.New(rand.NewPCG(3, uint64(blocks)))
				hit := 0.0
				for range *simulations {
					x := slices.Sorted(slices.Values(h.draw(rng, blocks)))
					if i := newRatios(x, resamples).ofMean(LevelsOf(2, 0.95).Usual); i.Low <= 0 && 0 <= i.High {
						hit++
					}
				}
				row += fmt.Sprintf(" | %.1f %%", 100*hit/n)
				if h.from > 0 && blocks >= h.from && hit/n < least {
					t.Errorf("%d blocks: covered %.1f %%, want at least %.1f", blocks, 100*hit/n, 100*least)
				}
			}
			rng := rand.New(rand.NewPCG(3, 60))
			hit, blocks := 0.0, 0.0
			for range *simulations {
				x := h.draw(rng, 60)
				for i := range x {
					x[i] *= 0.03
				}
				i, used := ended(x, Looks(5, 60))
				blocks += float64(len(used))
				if i.Low <= 0 && 0 <= i.High {
					hit++
				}
			}
			t.Logf("%s | %.1f %% | %.1f | %s |", row, 100*hit/n, blocks/n, h.breaks)
		})
	}
}
