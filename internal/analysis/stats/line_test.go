package stats_test

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"tare/internal/analysis/stats"
)

func TestFitLineFindsALine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slope, at0 := rapid.Float64Range(-1e3, 1e3).Draw(t, "slope"), rapid.Float64Range(-1e3, 1e3).Draw(t, "at 0")
		x := rapid.SliceOfNDistinct(rapid.Map(rapid.IntRange(0, 1000), func(i int) float64 { return float64(i) }), 2, 30, rapid.ID).Draw(t, "x")
		y := make([]float64, len(x))
		for i := range x {
			y[i] = at0 + slope*x[i]
		}
		l, err := stats.FitLine(x, y)
		if err != nil || math.Abs(l.Slope-slope) > 1e-6*(1+math.Abs(slope)) || math.Abs(l.Intercept-at0) > 1e-5*(1+math.Abs(at0)+math.Abs(slope)) {
			t.Fatalf("%+v, %v", l, err)
		}
	})
}

func TestFitLineIsOfLeastSquares(t *testing.T) {
	// scipy.stats.linregress([2, 4, 6, 8, 10], [4.4, 5.9, 7.5, 9.1, 10.5])
	l, err := stats.FitLine([]float64{2, 4, 6, 8, 10}, []float64{4.4, 5.9, 7.5, 9.1, 10.5})
	if err != nil || math.Abs(l.Slope-0.77) > 1e-12 || math.Abs(l.Intercept-2.86) > 1e-12 {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestFitLineRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		x, y []float64
		want error
	}{
		"nothing":      {nil, nil, stats.ErrFew},
		"one point":    {[]float64{1}, []float64{1}, stats.ErrFew},
		"one x":        {[]float64{3, 3}, []float64{1, 2}, stats.ErrFew},
		"no pairs":     {[]float64{1, 2}, []float64{1}, stats.ErrDomain},
		"not a number": {[]float64{1, 2}, []float64{1, math.NaN()}, stats.ErrDomain},
	} {
		if l, err := stats.FitLine(c.x, c.y); !errors.Is(err, c.want) {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
	}
}

// The interval is that of the ratios' logarithms, whose coverage is tested.
func TestMeanIntervalIsThatOfLogarithms(t *testing.T) {
	x := []float64{0.2, -0.1, 0.4, 0.15, 0.3, -0.2}
	ratios := make([]float64, len(x))
	for i := range x {
		ratios[i] = math.Exp(x[i])
	}
	of, err := stats.RatioInterval(ratios, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	got, err := stats.MeanInterval(x, 0.95)
	if err != nil || math.Abs(got.Mid-math.Log(of.Mid)) > 1e-9 || math.Abs(got.Low-math.Log(of.Low)) > 0.02 || math.Abs(got.High-math.Log(of.High)) > 0.02 {
		t.Errorf("%+v, %v; by logarithms %v to %v", got, err, math.Log(of.Low), math.Log(of.High))
	}
	for name, c := range map[string]struct {
		x          []float64
		confidence float64
		want       error
	}{
		"two":        {[]float64{1, 2}, 0.95, stats.ErrFew},
		"infinite":   {[]float64{1, 2, math.Inf(1)}, 0.95, stats.ErrDomain},
		"confidence": {x, 1, stats.ErrDomain},
	} {
		if i, err := stats.MeanInterval(c.x, c.confidence); !errors.Is(err, c.want) {
			t.Errorf("%s: %+v, %v", name, i, err)
		}
	}
}
