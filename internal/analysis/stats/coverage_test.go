package stats

import (
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// go test ./internal/analysis/stats -run Coverage -v -simulations 20000 prints the
// table of docs/methodology/statistics.md.
var simulations = flag.Int("simulations", 1000, "simulated experiments per row of the coverage table")

// shapes are distributions of the logarithm of a ratio, each with mean 0.
var shapes = []struct {
	name string
	draw func(*rand.Rand) float64
	// least is the coverage in percent that the method must reach at each of
	// sizes, a little below what it was measured to have.
	least [5]float64
}{
	{"normal", (*rand.Rand).NormFloat64, [5]float64{93, 93, 94, 93, 93}},
	{"exponential", func(r *rand.Rand) float64 { return r.ExpFloat64() - 1 }, [5]float64{85, 85, 92, 92, 93}},
	{"lognormal", func(r *rand.Rand) float64 { return math.Exp(r.NormFloat64()) - math.Exp(0.5) }, [5]float64{80, 79, 86, 88, 92}},
	{"one in ten disturbed", func(r *rand.Rand) float64 {
		v := r.NormFloat64() - 0.5
		if r.Float64() < 0.1 {
			v += 5
		}
		return v
	}, [5]float64{91, 89, 91, 90, 90}},
}

var sizes = [5]int{3, 4, 5, 10, 30}

func TestCoverage(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates for a minute, which -short leaves out")
	}
	const resamples = 999
	for _, shape := range shapes {
		for k, n := range sizes {
			rng := rand.New(rand.NewPCG(20181, uint64(n)))
			hit, hitBCa, hull := 0, 0, 0
			reach := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}.Quantile(0.975)
			widths := make([]float64, *simulations)
			for s := range *simulations {
				x := make([]float64, n)
				for i := range x {
					x[i] = shape.draw(rng)
				}
				slices.Sort(x)
				i := newRatios(x, resamples).ofMean(0.95)
				if i.Low <= 0 && 0 <= i.High {
					hit++
				}
				widths[s] = i.High - i.Low
				other := meanBCa(x, 0.95, resamples)
				if other.Low <= 0 && 0 <= other.High {
					hitBCa++
				}
				if half := reach * standardError(x); min(other.Low, other.Mid-half) <= 0 && 0 <= max(other.High, other.Mid+half) {
					hull++
				}
			}
			cover := 100 * float64(hit) / float64(*simulations)
			t.Logf("%-21s n=%-3d covered %.1f %%, median width %.2f; BCa covered %.1f %%, its hull with Student's %.1f %%",
				shape.name, n, cover, Median(widths), 100*float64(hitBCa)/float64(*simulations), 100*float64(hull)/float64(*simulations))
			if cover < shape.least[k] {
				t.Errorf("%s, n=%d: covered %.1f %% of the time, want at least %.0f %%", shape.name, n, cover, shape.least[k])
			}
		}
	}
}

func BenchmarkRatioInterval(b *testing.B) {
	x := []float64{0.93, 0.95, 0.94, 0.99, 0.90, 0.92, 0.97, 0.94, 0.95, 0.96}
	for b.Loop() {
		if _, err := RatioInterval(x, 0.95); err != nil {
			b.Fatal(err)
		}
	}
}
