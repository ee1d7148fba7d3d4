package stats

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Differences in height of Darwin's 15 pairs of maize, in eighths of an inch.
// Of the 32768 sums of their flips Fisher (1935, section 21) found 863 that
// reach 314 or more.
var maize = []float64{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48}

func exps(x []float64, scale float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = math.Exp(v * scale)
	}
	return out
}

func TestSignFlipOfDarwinsMaize(t *testing.T) {
	p, err := SignFlip(exps(maize, 0.01))
	if want := 2 * 863.0 / 32768; err != nil || math.Abs(p-want) > 1e-12 {
		t.Errorf("p %.8f, %v; want %.8f", p, err, want)
	}
}

func TestSignFlipByChanceAgreesWithAllFlips(t *testing.T) {
	x := slices.Clone(maize)
	slices.Sort(x)
	got := randomFlipShare(x, 314-1e-9, 200_000)
	want := exactFlipShare(x, 314-1e-9)
	if sd := math.Sqrt(want * (1 - want) / 200_000); math.Abs(got-want) > 4*sd {
		t.Errorf("p %.5f, all flips %.5f, standard deviation %.5f", got, want, sd)
	}
}

func TestSignFlip(t *testing.T) {
	many := slices.Repeat([]float64{1.01, 1.02, 1.03}, 40)
	for _, c := range []struct {
		name   string
		x      []float64
		p      float64
		within float64
	}{
		{"all on one side", []float64{1.1, 1.2, 1.3}, 2.0 / 8, 1e-12},
		{"all equal", []float64{1.1, 1.1, 1.1, 1.1}, 2.0 / 16, 1e-12},
		{"no effect at all", []float64{1, 1, 1}, 1, 0},
		{"balanced", []float64{2, 0.5, 4, 0.25}, 1, 1e-12},
		{"many, above what is enumerated", many, 1e-4, 1e-12},
		{"many, balanced", append(slices.Repeat([]float64{2}, 40), slices.Repeat([]float64{0.5}, 40)...), 1, 1e-12},
	} {
		if p, err := SignFlip(c.x); err != nil || math.Abs(p-c.p) > c.within {
			t.Errorf("%s: p %g, %v; want %g", c.name, p, err, c.p)
		}
	}
}

func TestSignFlipKnowsNeitherOrderNorDirection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(positive(), 3, 10).Draw(t, "ratios")
		p, err := SignFlip(x)
		if err != nil || !(p > 0 && p <= 1) {
			t.Fatalf("p %g, %v", p, err)
		}
		slices.Reverse(x)
		for i := range x {
			x[i] = 1 / x[i]
		}
		if again, _ := SignFlip(x); again != p {
			t.Fatalf("p %g, of the inverse ratios %g", p, again)
		}
	})
}

func TestHolm(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct{ p, want []float64 }{
		{nil, nil},
		{[]float64{0.03}, []float64{0.03}},
		{[]float64{0.01, 0.04, 0.03, 0.005}, []float64{0.03, 0.06, 0.06, 0.02}},
		{[]float64{0.04, nan, 0.03, 0.035}, []float64{0.09, nan, 0.09, 0.09}},
		{[]float64{0.6, 0.7}, []float64{1, 1}},
		{[]float64{nan, nan}, []float64{nan, nan}},
	} {
		got := Holm(c.p)
		if !slices.EqualFunc(got, c.want, func(a, b float64) bool {
			return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) < 1e-12
		}) {
			t.Errorf("%v: %v, want %v", c.p, got, c.want)
		}
	}
}

// Equivalence at 2.5 % says the same as Student's 95 % interval within the bounds.
func TestEquivalenceIsTheIntervalWithinBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(0.9, 1.1), 3, 4).Draw(t, "ratios")
		margin := rapid.Float64Range(0.01, 0.5).Draw(t, "margin")
		p, err := Equivalence(x, margin)
		if err != nil {
			t.Fatal(err)
		}
		i, err := RatioInterval(x, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if inside := i.Low >= 1-margin && i.High <= 1+margin; inside != (p <= 0.025) && math.Abs(p-0.025) > 1e-9 {
			t.Fatalf("p %g, interval %+v", p, i)
		}
	})
}

func TestEquivalenceOfEqualRatios(t *testing.T) {
	for ratio, want := range map[float64]float64{0.98: 0, 1.02: 0, 0.96: 1, 1.04: 1} {
		if p, err := Equivalence([]float64{ratio, ratio, ratio}, 0.03); p != want || err != nil {
			t.Errorf("%g: p %g, %v; want %g", ratio, p, err, want)
		}
	}
}

func TestTestsRefuse(t *testing.T) {
	for _, c := range []struct {
		x    []float64
		want error
	}{
		{nil, ErrFew}, {[]float64{1, 2}, ErrFew}, {[]float64{1, 2, 0}, ErrDomain},
		{[]float64{1, 2, math.NaN()}, ErrDomain}, {[]float64{1, 2, math.Inf(1)}, ErrDomain},
	} {
		if _, err := SignFlip(c.x); !errors.Is(err, c.want) {
			t.Errorf("sign flip of %v: %v, want %v", c.x, err, c.want)
		}
		if _, err := Equivalence(c.x, 0.03); !errors.Is(err, c.want) {
			t.Errorf("equivalence of %v: %v, want %v", c.x, err, c.want)
		}
	}
	for _, margin := range []float64{0, 1, -1, math.NaN()} {
		if _, err := Equivalence([]float64{1, 2, 3}, margin); !errors.Is(err, ErrDomain) {
			t.Errorf("margin %g: %v", margin, err)
		}
	}
}
