package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// A change of that size is found nine times in ten by the interval that decides.
func TestDetectableIsFoundNineTimesInTen(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	const sd, n, experiments = 0.03, 8, 600
	se := sd / math.Sqrt(n)
	var sizes []float64
	draw := func(truth float64) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = truth * math.Exp(sd*rng.NormFloat64())
		}
		return x
	}
	for range experiments {
		ratios := draw(1)
		i, err := RatioInterval(ratios, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		size, err := Detectable(i, ratios, 0.9)
		if err != nil {
			t.Fatal(err)
		}
		if size < i.High/i.Mid-1 || size < 1-i.Low/i.Mid {
			t.Fatalf("%g of an interval of %+v", size, i)
		}
		sizes = append(sizes, size)
	}
	// By Student's interval of seven degrees of freedom it is 2.365 + 1.415 standard errors.
	if typical := Median(sizes); typical < (2.365+1.415)*se || typical > 1.4*(2.365+1.415)*se {
		t.Errorf("%g, want a little more than %g", typical, (2.365+1.415)*se)
	}
	found := 0
	for range experiments {
		i, err := RatioInterval(draw(1+Median(sizes)), 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if i.Low > 1 {
			found++
		}
	}
	if share := float64(found) / experiments; share < 0.84 || share > 0.96 {
		t.Errorf("found in %.2f of experiments", share)
	}
}

func TestDetectableRefuses(t *testing.T) {
	whole := Interval{1, 0.9, 1.2}
	for _, c := range []struct {
		i      Interval
		ratios []float64
		power  float64
		want   error
	}{
		{whole, []float64{1}, 0.9, ErrFew},
		{whole, []float64{1, 1, 0}, 0.9, ErrDomain},
		{whole, []float64{1, 1, 1}, 1, ErrDomain},
		{Interval{1, 0, 1.2}, []float64{1, 1, 1}, 0.9, ErrDomain},
		{Interval{1, 1.1, 1.2}, []float64{1, 1, 1}, 0.9, ErrDomain},
	} {
		if _, err := Detectable(c.i, c.ratios, c.power); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
