package stats

import (
	"errors"
	"math"
	"testing"
)

func TestGroupsMatter(t *testing.T) {
	// Of the 10 ways to choose 2 of 5 values, one alone is as far as the two that are highest.
	p, err := GroupsMatter([]float64{1, 2, 3, 9, 10}, []int{0, 0, 0, 1, 1})
	if err != nil || math.Abs(p-0.1) > 1e-12 {
		t.Errorf("p = %g, %v; want 0.1", p, err)
	}
	if p, err := GroupsMatter([]float64{4, 4, 4, 4, 4, 4}, []int{0, 1, 0, 1, 0, 1}); err != nil || p != 1 {
		t.Errorf("of equal values p = %g, %v; want 1", p, err)
	}
	x, group := make([]float64, 40), make([]int, 40)
	for i := range x {
		group[i] = i % 4
		x[i] = float64(i*7%5) / 10
		if group[i] == 2 {
			x[i] += 3
		}
	}
	if p, err := GroupsMatter(x, group); err != nil || p > 0.001 {
		t.Errorf("of 40 values, a group of which is far off, p = %g, %v", p, err)
	}
	for name, c := range map[string]struct {
		x     []float64
		group []int
		err   error
	}{
		"few":               {[]float64{1, 2, 3, 4}, []int{0, 1, 0, 1}, ErrFew},
		"one group":         {[]float64{1, 2, 3, 4, 5}, []int{0, 0, 0, 0, 0}, ErrFew},
		"each of its own":   {[]float64{1, 2, 3, 4, 5}, []int{0, 1, 2, 3, 4}, ErrFew},
		"one that is none":  {[]float64{1, 2, math.NaN(), 4, 5}, []int{0, 0, 0, 1, 1}, ErrDomain},
		"one without bound": {[]float64{1, 2, math.Inf(1), 4, 5}, []int{0, 0, 0, 1, 1}, ErrDomain},
	} {
		if _, err := GroupsMatter(c.x, c.group); !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", name, err, c.err)
		}
	}
}

func TestPlaceMatters(t *testing.T) {
	// Of 120 orders, the one that rises throughout and its mirror image are as steep.
	growth, p, err := PlaceMatters([]float64{1, 2, 3, 4, 5}, []float64{0, 0.25, 0.5, 0.75, 1})
	if err != nil || math.Abs(p-2.0/120) > 1e-12 || math.Abs(growth-4) > 1e-12 {
		t.Errorf("growth %g, p = %g, %v; want 4 and 2/120", growth, p, err)
	}
	if _, _, err := PlaceMatters([]float64{1, 2, 3, 4, 5}, []float64{1, 1, 1, 1, 1}); !errors.Is(err, ErrFew) {
		t.Errorf("all at one place: %v", err)
	}
	if _, _, err := PlaceMatters([]float64{1, 2, 3}, []float64{1, 2, 3}); !errors.Is(err, ErrFew) {
		t.Errorf("three values: %v", err)
	}
}
