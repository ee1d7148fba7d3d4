package stats

import (
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

func TestLookConfidence(t *testing.T) {
	for _, c := range []struct {
		looks []int
		k     int
		want  float64
	}{
		{[]int{30}, 0, 0.95}, {[]int{3}, 0, 0.95}, {[]int{3, 4}, 1, 0.975},
		{[]int{5, 8, 12, 19, 30}, 0, 0.975}, {[]int{5, 8, 12, 19, 30}, 4, 0.975},
		{[]int{3, 5, 9}, 0, 1 - 0.05/3},
	} {
		if got := LookConfidence(c.looks, c.k, 0.95); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("%v, look %d: %g, want %g", c.looks, c.k, got, c.want)
		}
	}
	for _, k := range []int{-1, 2} {
		if got := LookConfidence([]int{5, 8}, k, 0.95); !math.IsNaN(got) {
			t.Errorf("look %d of 2: %g", k, got)
		}
	}
}

// Student's interval of normal values is the narrowest that RatioInterval ever
// gives: if it holds the truth after stopping, so does RatioInterval. With -v it
// prints the blocks it took beside the fixed number for which the width is known
// to be expected; five looks in equal factors are there to compare with.
func TestLookConfidenceSuffices(t *testing.T) {
	for _, looks := range [][]int{Looks(5, 30), Looks(3, 30), Looks(3, 10), Looks(10, 30), Looks(5, 200), {5, 8, 12, 19, 30}} {
		level := LookConfidence(looks, 0, 0.95)
		reach := make([]float64, len(looks))
		for k, n := range looks {
			reach[k] = distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}.Quantile(1-(1-level)/2) / math.Sqrt(float64(n))
		}
		for _, wanted := range []float64{0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1, 1.4, 2} {
			rng := rand.New(rand.NewPCG(5, uint64(100*wanted)))
			hit, blocks := 0, 0
			for range *experiments {
				mean, half, n := stopped(rng, looks, reach, wanted)
				if math.Abs(mean) <= half {
					hit++
				}
				blocks += n
			}
			cover := float64(hit) / float64(*experiments)
			t.Logf("looks %v, half width wanted %g standard deviations: covered %.2f %%; %.1f blocks, fixed %d",
				looks, wanted, 100*cover, float64(blocks)/float64(*experiments), known(wanted))
			if least := 0.95 - 3*math.Sqrt(0.95*0.05/float64(*experiments)); cover < least {
				t.Errorf("that is less than %.2f %%", 100*least)
			}
		}
	}
}

// stopped draws normal values until the interval is narrow at a look, and
// returns its middle and half width and how many values that took.
func stopped(rng *rand.Rand, looks []int, reach []float64, wanted float64) (mean, half float64, n int) {
	var sum, squares float64
	for k, look := range looks {
		for ; n < look; n++ {
			v := rng.NormFloat64()
			sum += v
			squares += v * v
		}
		mean = sum / float64(n)
		half = reach[k] * math.Sqrt((squares-sum*mean)/float64(n-1))
		if half <= wanted {
			break
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
