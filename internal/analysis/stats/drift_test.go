package stats

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func grown(perBlock float64, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = 100 * math.Pow(1+perBlock, float64(i))
	}
	return x
}

func TestDrift(t *testing.T) {
	stuck := grown(0.02, 9)
	stuck[4] *= 5
	for _, c := range []struct {
		name        string
		x           []float64
		perBlock, p float64
	}{
		{"rising", grown(0.01, 5), 0.01, 2.0 / 120},
		{"falling", grown(-0.01, 6), -0.01, 2.0 / 720},
		{"one block stuck", stuck, 0.02, 2 * 440.0 / 362880},
		{"all equal", []float64{3, 3, 3, 3, 3}, 0, 1},
		{"up and down", []float64{1, 2, 4, 2, 1}, 0, 1},
	} {
		perBlock, p, err := Drift(c.x)
		if err != nil || math.Abs(perBlock-c.perBlock) > 1e-12 || math.Abs(p-c.p) > 1e-12 {
			t.Errorf("%s: %g per block, p %g, %v; want %g, %g", c.name, perBlock, p, err, c.perBlock, c.p)
		}
	}
}

func TestDriftBackwards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(positive(), 5, 60).Draw(t, "values")
		slope, p, err := Drift(x)
		if err != nil || !(p >= 0 && p <= 1) {
			t.Fatalf("p %g, %v", p, err)
		}
		for i := range x {
			x[i] = 1 / x[i]
		}
		back, again, _ := Drift(x)
		if math.Abs((1+slope)*(1+back)-1) > 1e-9 || math.Abs(p-again) > 1e-9 {
			t.Fatalf("%g per block, p %g; of the inverse %g, %g", slope, p, back, again)
		}
	})
}

func TestDriftRefuses(t *testing.T) {
	if _, _, err := Drift([]float64{1, 2, 3, 4}); !errors.Is(err, ErrFew) {
		t.Errorf("4 values: %v", err)
	}
	for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, _, err := Drift([]float64{1, 2, 3, 4, bad}); !errors.Is(err, ErrDomain) {
			t.Errorf("%g: %v", bad, err)
		}
	}
}
