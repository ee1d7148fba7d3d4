package stats

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// go test ./internal/analysis/stats -run Simulation -v prints the table of docs/methodology/statistics.md.
var experiments = flag.Int("experiments", 2000, "simulated experiments per row of the table of disturbances")

// disturbances are what a host does to the launches of an experiment, in the
// order in which they run: each returns the logarithms of n launches' values.
var disturbances = []struct {
	name    string
	history func(r *rand.Rand, n int) []float64
}{
	{"none", func(r *rand.Rand, n int) []float64 { return scatter(r, n, 0.02) }},
	{"drift of 20 %", func(r *rand.Rand, n int) []float64 {
		x := scatter(r, n, 0.02)
		for i := range x {
			x[i] += math.Log(1.2) * float64(i) / float64(n)
		}
		return x
	}},
	{"step of 10 % within the middle block", func(r *rand.Rand, n int) []float64 {
		x := scatter(r, n, 0.02)
		for i := n/4*2 + 1; i < n; i++ {
			x[i] += math.Log(1.1)
		}
		return x
	}},
	{"AR(1) of 0.7", func(r *rand.Rand, n int) []float64 {
		x := scatter(r, n, 0.02)
		for i := 1; i < n; i++ {
			x[i] = 0.7*x[i-1] + math.Sqrt(1-0.7*0.7)*x[i]
		}
		return x
	}},
	{"heavy tails, t of 2 degrees", func(r *rand.Rand, n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = 0.02 * r.NormFloat64() / math.Sqrt(r.ExpFloat64())
		}
		return x
	}},
	{"lognormal spikes in 10 % of launches", func(r *rand.Rand, n int) []float64 {
		x := scatter(r, n, 0.02)
		for i := range x {
			if r.Float64() < 0.1 {
				x[i] += math.Log1p(0.2 * math.Exp(r.NormFloat64()))
			}
		}
		return x
	}},
	{"one launch stuck, 5 times", func(r *rand.Rand, n int) []float64 {
		x := scatter(r, n, 0.02)
		x[r.IntN(n)] += math.Log(5)
		return x
	}},
	{"one block stuck, 5 times", func(r *rand.Rand, n int) []float64 {
		x := scatter(r, n, 0.02)
		block := r.IntN(n / 2)
		x[2*block] += math.Log(5)
		x[2*block+1] += math.Log(5)
		return x
	}},
}

func scatter(r *rand.Rand, n int, sd float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = sd * r.NormFloat64()
	}
	return x
}

// logRatiosOf splits a history into blocks of two launches, and pairs them. Chance
// orders the first block of each two, and the second has the opposite order.
func logRatiosOf(r *rand.Rand, history []float64, effect float64) ([]float64, error) {
	base, value := map[int]float64{}, map[int]float64{}
	first := 0
	for block := range len(history) / 2 {
		if first = 1 - first; block%2 == 0 {
			first = r.IntN(2)
		}
		base[block] = math.Exp(history[2*block+first])
		value[block] = effect * math.Exp(history[2*block+1-first])
	}
	ratios, err := PairedRatios(value, base)
	x := make([]float64, len(ratios))
	for i, ratio := range ratios {
		x[i] = math.Log(ratio.Value)
	}
	return x, err
}

// ending is how an experiment ends: after a number of blocks, or by the rule
// with looks up to it.
type ending struct {
	name   string
	blocks int
	looks  []int
}

var endings = []ending{
	{"5 blocks", 5, []int{5}}, {"10 blocks", 10, []int{10}}, {"30 blocks", 30, []int{30}},
	{"5 to 30 blocks, by the rule", 30, Looks(5, 30)}, {"4 to 60 blocks, by the rule", 60, Looks(4, 60)},
}

// ended returns the interval of the look at which an experiment ends, being within
// 3 % or deciding at a margin of 3 %, and the logarithms of its ratios, sorted.
func ended(x []float64, looks []int) (Interval, []float64) {
	const resamples, wanted = 399, 0.03
	levels := LevelsOf(len(looks), 0.95)
	var i Interval
	var sorted []float64
	for _, look := range looks {
		sorted = slices.Sorted(slices.Values(x[:look]))
		r := newRatios(sorted, resamples)
		i = r.ofMean(levels.Usual)
		if math.Exp(i.High-i.Mid)-math.Exp(i.Low-i.Mid) <= 2*wanted {
			break
		}
		strict := r.ofMean(levels.Strict)
		if strict.Low > 0 || strict.High < 0 || strict.Low >= math.Log(1-wanted) && strict.High <= math.Log(1+wanted) {
			return strict, sorted
		}
	}
	return i, sorted
}

// What is simulated: two sides, the same but for the effect, under what a host
// does to them. With no effect the interval must exclude 1, and the sign flip
// test reject, no more often than 5 %, up to what 5 % comes to by chance; and
// 95 % intervals must hold the true ratio in at least 93 %.
func TestSimulation(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates for minutes, which -short leaves out")
	}
	n := float64(*experiments)
	most := 0.05 + 1.96*math.Sqrt(0.05*0.95/n)
	for d, disturbance := range disturbances {
		t.Run(strings.ReplaceAll(disturbance.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			for e, end := range endings {
				for _, effect := range []float64{1, 1.05} {
					rng := rand.New(rand.NewPCG(uint64(1000*d+10*e), math.Float64bits(effect)))
					missed, differs, rejected, blocks := 0.0, 0.0, 0.0, 0.0
					for range *experiments {
						x, err := logRatiosOf(rng, disturbance.history(rng, 2*end.blocks), effect)
						if err != nil {
							t.Fatal(err)
						}
						i, used := ended(x, end.looks)
						blocks += float64(len(used))
						if truth := math.Log(effect); truth < i.Low || truth > i.High {
							missed++
						}
						if i.Low > 0 || i.High < 0 {
							differs++
						}
						if signFlip(used, 199) <= 0.05 {
							rejected++
						}
					}
					what := fmt.Sprintf("%-36s | %-27s | effect %.2f", disturbance.name, end.name, effect)
					t.Logf("%s | %4.1f blocks | covered %.1f %% | excluded 1 %.1f %% | sign flips reject %.1f %%",
						what, blocks/n, 100-100*missed/n, 100*differs/n, 100*rejected/n)
					if missed/n > 0.07 {
						t.Errorf("%s: covered %.1f %%, want at least 93 %%", what, 100-100*missed/n)
					}
					if effect == 1 && differs/n > most {
						t.Errorf("%s: %.1f %% of intervals exclude 1, want at most %.1f %%", what, 100*differs/n, 100*most)
					}
					if effect == 1 && len(end.looks) == 1 && rejected/n > most {
						t.Errorf("%s: sign flips reject %.1f %%, want at most %.1f %%", what, 100*rejected/n, 100*most)
					}
				}
			}
		})
	}
}
