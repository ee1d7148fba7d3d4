package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The numbers recommended bring about what they are recommended for in 90 % of
// the runs, where estimate and scatter are the truth.
func TestRecommendedNumbersHavePower(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	count := max(*simulations/10, 200)
	paired := func(what string, mean, sd float64, n int, done func(Interval) bool) {
		t.Helper()
		if n == 0 {
			t.Errorf("%s: no number", what)
			return
		}
		hit := 0
		for range count {
			x := make([]float64, n)
			for i := range x {
				x[i] = mean + sd*rng.NormFloat64()
			}
			slices.Sort(x)
			i := newRatios(x, 999).ofMean(0.95)
			if done(Interval{math.Exp(i.Mid), math.Exp(i.Low), math.Exp(i.High)}) {
				hit++
			}
		}
		share := float64(hit) / float64(count)
		t.Logf("%s, mean %g, sd %g: %d blocks, %.1f %%", what, mean, sd, n, 100*share)
		if share < 0.84 { // 0.9 less four standard errors of 200 trials, and of the widening
			t.Errorf("%s: %d blocks suffice in %.1f %% only", what, n, 100*share)
		}
	}
	for _, sd := range []float64{0.01, 0.02, 0.04} {
		s := Scatter{0.02, sd, 5}
		paired("differs", 0.02, sd, s.ToDiffer(0.95).N, func(i Interval) bool { return i.Low > 1 || i.High < 1 })
		s.Mean = 0.005
		paired("within 3 %", 0.005, sd, s.ToLieWithin(0.03, 0.95).N, func(i Interval) bool { return i.Low >= 0.97 && i.High <= 1.03 })
		paired("half width 1.5 %", 0, sd, s.ToBeNarrow(0.015, 0.95).N, func(i Interval) bool { return i.High/i.Mid <= 1.015 })
	}
	for _, sd := range [][2]float64{{0.01, 0.01}, {0.02, 0.06}} {
		two := Two{SD: sd, Of: [2]float64{4, 4}}
		n := two.Needed(math.Log(1.05), 0.025).N
		hit := 0
		for range 10 * count {
			w, err := TwoSample(lognormal(rng, n, 0, sd[0]), lognormal(rng, n, 0, sd[1]))
			if err != nil {
				t.Fatal(err)
			}
			if w.Upper(0.025) < 1.05 {
				hit++
			}
		}
		share := float64(hit) / float64(10*count)
		t.Logf("two samples, sd %v: %d launches, %.1f %%", sd, n, 100*share)
		if share < 0.88 || share > 0.97 && n > 10 {
			t.Errorf("%v: %d launches suffice in %.1f %%", sd, n, 100*share)
		}
	}
}

func TestNeedHasARange(t *testing.T) {
	s, err := ScatterOf([]float64{1.02, 1.05, 0.99, 1.03})
	if err != nil {
		t.Fatal(err)
	}
	n := s.ToBeNarrow(0.01, 0.95)
	if !(n.Low < n.N && n.N < n.High) {
		t.Errorf("%+v", n)
	}
	sure := Scatter{s.Mean, s.SD, 1000}.ToBeNarrow(0.01, 0.95)
	if sure.N != n.N || sure.High-sure.Low >= n.High-n.Low {
		t.Errorf("%+v of 1000 blocks, %+v of 4", sure, n)
	}
	if n := (Scatter{0, 0.03, 5}).ToDiffer(0.95); n != (Need{}) {
		t.Errorf("nothing is to be found: %+v", n)
	}
	if n := (Scatter{0.05, 0.03, 5}).ToLieWithin(0.03, 0.95); n != (Need{}) {
		t.Errorf("it lies outside: %+v", n)
	}
	if n := (Scatter{0.05, 0, 5}).ToDiffer(0.95); n != (Need{3, 3, 3}) {
		t.Errorf("without scatter: %+v", n)
	}
	if n := (Two{SD: [2]float64{0.03, 0.04}, Of: [2]float64{4, 4}}).Needed(1e-4, 0.025); n != (Need{}) {
		t.Errorf("a hundredth of a percent: %+v", n)
	}
	if _, err := ScatterOf([]float64{1, 2}); !errors.Is(err, ErrFew) {
		t.Error(err)
	}
}

// widening is about what the bootstrap's reach is over Student's.
func TestWidening(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for _, n := range []int{3, 5, 10, 20} {
		for _, confidence := range []float64{0.95, 0.98, 0.9975} {
			sum, count := 0.0, 100
			for range count {
				x := scatter(rng, n, 0.02)
				slices.Sort(x)
				i := newRatios(x, 3999).ofMean(confidence)
				sum += (i.High - i.Low) / 2 / (studentTail(float64(n-1), (1-confidence)/2) * standardError(x))
			}
			if found, want := sum/float64(count), widening(n, confidence); math.Abs(found/want-1) > 0.12 {
				t.Errorf("%d ratios at %g: %.3f of Student's, not %.3f", n, confidence, found, want)
			}
		}
	}
}
