package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// pilot is what some runs of five blocks showed of normal log ratios, each run with a level of its
// own.
func pilot(rng *rand.Rand, runs int, sd float64) [][]float64 {
	all := make([][]float64, runs)
	for i := range all {
		level := 0.05 * rng.NormFloat64()
		for range 5 {
			all[i] = append(all[i], math.Exp(level+sd*rng.NormFloat64()))
		}
	}
	return all
}

// What a pilot predicts comes true: the half width of later runs, and how often they end.
func TestForecastComesTrue(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	count := max(*simulations/10, 200)
	for _, n := range []int{5, 10, 30} {
		var predicted, got []float64
		for range count {
			s, err := ScatterOfRuns(pilot(rng, 6, 0.02))
			if err != nil {
				t.Fatal(err)
			}
			predicted = append(predicted, s.HalfWidth(n, 0.98))
			x := scatter(rng, n, 0.02)
			slices.Sort(x)
			i := newRatios(x, 999).ofMean(0.98)
			got = append(got, (math.Exp(i.High)-math.Exp(i.Low))/2/math.Exp(i.Mid))
		}
		p, g := Mean(predicted), Mean(got)
		t.Logf("%d blocks: predicted ±%.2f %%, got ±%.2f %%", n, 100*p, 100*g)
		if math.Abs(p/g-1) > 0.15 {
			t.Errorf("%d blocks: predicted ±%.3g %%, got ±%.3g %%", n, 100*p, 100*g)
		}
	}
}

// A row ends by the number of blocks foretold with the power, whether by being narrow or by
// deciding.
func TestRowsEndAsForetold(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	count := max(*simulations/5, 300)
	levels := LevelsOf(10, 0.95)
	for _, c := range []struct{ mean, sd float64 }{{0, 0.02}, {0.05, 0.03}, {-0.2, 0.1}, {0.03, 0.03}, {0, 0.004}} {
		g := Goal{Width: 0.015, Margin: 0.03, Levels: levels, Family: 3}
		s := Scatter{c.mean, c.sd, 30}
		need := s.ToEnd(g)
		ended := 0
		for range count {
			x := scatter(rng, need.N, c.sd)
			for i := range x {
				x[i] += c.mean
			}
			slices.Sort(x)
			r := newRatios(x, 3999)
			of := func(level float64) Interval {
				i := r.ofMean(level)
				return Interval{math.Exp(i.Mid), math.Exp(i.Low), math.Exp(i.High)}
			}
			usual, strict := of(levels.Usual), of(levels.Strict)
			if usual.High/usual.Mid <= 1.015 || strict.Low >= 0.97 && strict.High <= 1.03 || r.P() < (1-levels.Strict)/3 {
				ended++
			}
		}
		share := float64(ended) / float64(count)
		t.Logf("mean %g, sd %g: %+v blocks, %.1f %%", c.mean, c.sd, need, 100*share)
		if share < 0.83 || share > 0.99 && need.N > 12 {
			t.Errorf("mean %g, sd %g: %d blocks end %.1f %%", c.mean, c.sd, need.N, 100*share)
		}
	}
}

func TestScatterOfRunsLeavesOutWhatRunsDiffer(t *testing.T) {
	s, err := ScatterOfRuns([][]float64{{1, 1.02, 0.98}, {2, 2.04, 1.96}, {5}})
	if err != nil || s.N != 5 {
		t.Fatalf("%+v, %v", s, err)
	}
	one, err := ScatterOf([]float64{1, 1.02, 0.98})
	if err != nil || math.Abs(s.SD-one.SD) > 1e-12 {
		t.Errorf("%g of both runs, %g of one: %v", s.SD, one.SD, err)
	}
	if _, err := ScatterOfRuns([][]float64{{1, 2}, {3}}); !errors.Is(err, ErrFew) {
		t.Error(err)
	}
	if _, err := ScatterOfRuns([][]float64{{1, 2, 3}, {0}}); !errors.Is(err, ErrDomain) {
		t.Error(err)
	}
}

// Narrowing answers as ToBeNarrow, and never asks for fewer blocks of more scatter.
func TestNarrowingAgrees(t *testing.T) {
	for _, width := range []float64{0.005, 0.015, 0.2} {
		w := NewNarrowing(width, 0.98)
		if !slices.IsSorted(w) {
			t.Errorf("%g: not sorted", width)
		}
		for sd := width / 4; sd < 8*width; sd *= 1.3 {
			a, b := w.Blocks(sd), Scatter{0, sd, 10}.ToBeNarrow(width, 0.98).N
			if math.Abs(float64(a-b)) > 1+0.01*float64(b) {
				t.Errorf("width %g, sd %g: %d blocks, %d by ToBeNarrow", width, sd, a, b)
			}
		}
		if n := w.Blocks(100 * width); n != 0 {
			t.Errorf("width %g: %d blocks for a hundred times the scatter", width, n)
		}
	}
}
