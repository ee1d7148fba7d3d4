package stats

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestJain(t *testing.T) {
	for _, c := range []struct {
		shares []float64
		want   float64
	}{{[]float64{5, 5, 5}, 1}, {[]float64{1, 0, 0, 0}, 0.25}, {[]float64{60, 20}, 0.8}} {
		if got, err := Jain(c.shares); err != nil || math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v: %v, %v", c.shares, got, err)
		}
	}
	for _, bad := range [][]float64{nil, {1}} {
		if _, err := Jain(bad); !errors.Is(err, ErrFew) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	for _, bad := range [][]float64{{1, -1}, {0, 0}, {1, math.NaN()}} {
		if _, err := Jain(bad); !errors.Is(err, ErrDomain) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// The index lies between 1/n and 1, whatever the unit.
func TestJainIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(0.01, 1e6), 2, 20).Draw(t, "shares")
		j, err := Jain(x)
		if err != nil || j > 1+1e-9 || j < 1/float64(len(x))-1e-9 {
			t.Fatalf("%v: %v, %v", x, j, err)
		}
		for i := range x {
			x[i] *= 7
		}
		if again, _ := Jain(x); math.Abs(again-j) > 1e-9 {
			t.Fatalf("%v in another unit: %v and %v", x, j, again)
		}
	})
}

func TestNearest(t *testing.T) {
	x := []float64{30, 10, 20, 40}
	for p, want := range map[float64]float64{0.25: 10, 0.26: 20, 0.5: 20, 0.99: 40, 1: 40} {
		if got := Nearest(x, p); got != want {
			t.Errorf("%v: %v, want %v", p, got, want)
		}
	}
	for _, p := range []float64{0, -1, 1.1, math.NaN()} {
		if got := Nearest(x, p); !math.IsNaN(got) {
			t.Errorf("%v: %v", p, got)
		}
	}
	if !math.IsNaN(Nearest(nil, 0.5)) {
		t.Error("a rank among none")
	}
}
