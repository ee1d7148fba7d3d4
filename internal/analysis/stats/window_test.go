package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// launched is a series of n values around 100, each like the one before by phi; sd is of the mean
// of a launch.
func launched(rng *rand.Rand, n int, phi, within, between float64) []float64 {
	x := make([]float64, n)
	level, last := 1+between*rng.NormFloat64(), rng.NormFloat64()
	for i := range x {
		last = phi*last + math.Sqrt(1-phi*phi)*rng.NormFloat64()
		x[i] = 100 * (level + within*last)
	}
	return x
}

// Block averages tell how much the mean of a window varies, also where values resemble
// the ones before, and whatever launches differ.
func TestBlockAverage(t *testing.T) {
	for _, c := range []struct {
		phi    float64
		values int
	}{{0, 50}, {0, 600}, {0.5, 100}, {0.8, 600}, {-0.3, 100}} {
		rng := rand.New(rand.NewPCG(41, uint64(c.values)))
		var found []float64
		for range 100 {
			var series [][]float64
			for range 20 {
				series = append(series, launched(rng, c.values, c.phi, 0.1, 0.05))
			}
			within, err := BlockAverage(series, 0.1)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, within)
		}
		// The variance of the mean of a second of ten values, for a long window.
		truth := 0.01 / 10 * (1 + c.phi) / (1 - c.phi)
		got := Median(found)
		t.Logf("AR(1) of %g, %d values: %.3g, truth %.3g", c.phi, c.values, got, truth)
		if math.Abs(got/truth-1) > 0.2 {
			t.Errorf("AR(1) of %g, %d values: %.3g, truth %.3g", c.phi, c.values, got, truth)
		}
	}
	if _, err := BlockAverage([][]float64{{1, 2, 3}}, 0.1); !errors.Is(err, ErrFew) {
		t.Error(err)
	}
	if _, err := BlockAverage([][]float64{{1, 2, -3, -1, -2}}, 0.1); !errors.Is(err, ErrDomain) {
		t.Error(err)
	}
}

// From launches with a series each, the half width that another window brings is foretold.
func TestAnotherWindowIsForetold(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 44))
	const phi, within, between, step = 0.5, 0.1, 0.02, 0.1
	ratios := func(values, n int) (logs []float64, series [2][][]float64) {
		for range n {
			a, b := launched(rng, values, phi, within, between), launched(rng, values, phi, within, between)
			series[0], series[1] = append(series[0], a), append(series[1], b)
			logs = append(logs, math.Log(Mean(a)/Mean(b)))
		}
		return logs, series
	}
	for _, window := range []float64{2, 20, 60} {
		var predicted, got []float64
		for range 60 {
			logs, series := ratios(50, 30) // windows of 5 s
			rate := 0.0
			for _, s := range series {
				w, err := BlockAverage(s, step)
				if err != nil {
					t.Fatal(err)
				}
				rate += w
			}
			c, err := FitBetween([]Windowed{{Scatter{Mean(logs), StdDev(logs), 30}, 5}}, rate)
			if err != nil {
				t.Fatal(err)
			}
			predicted = append(predicted, Scatter{0, math.Sqrt(c.Variance(window)), 30}.HalfWidth(10, 0.95))
			after, _ := ratios(int(window/step), 10)
			sd := StdDev(after)
			got = append(got, Scatter{0, sd, 10}.HalfWidth(10, 0.95))
		}
		p, g := Mean(predicted), math.Sqrt(meanSquare(got))
		t.Logf("windows of %g s: predicted ±%.2f %%, got ±%.2f %%", window, 100*p, 100*g)
		if math.Abs(p/g-1) > 0.15 {
			t.Errorf("windows of %g s: predicted ±%.3g %%, got ±%.3g %%", window, 100*p, 100*g)
		}
	}
}

func meanSquare(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	return sum / float64(len(x))
}

// Runs with windows of different lengths tell the components as well.
func TestFitWindows(t *testing.T) {
	truth := Components{Between: 0.0001, Within: 0.0016}
	exact := []Windowed{}
	for _, w := range []float64{1, 4, 10} {
		exact = append(exact, Windowed{Scatter{0, math.Sqrt(truth.Variance(w)), 10}, w})
	}
	c, err := FitWindows(exact)
	if err != nil || math.Abs(c.Between-truth.Between) > 1e-9 || math.Abs(c.Within-truth.Within) > 1e-9 {
		t.Errorf("%+v, %v", c, err)
	}
	rng := rand.New(rand.NewPCG(45, 46))
	var between, within []float64
	for range 300 {
		var of []Windowed
		for _, w := range []float64{1, 3, 10} {
			x := scatter(rng, 25, math.Sqrt(truth.Variance(w)))
			of = append(of, Windowed{Scatter{0, StdDev(x), 25}, w})
		}
		c, err := FitWindows(of)
		if err != nil || c.Between < 0 || c.Within < 0 {
			t.Fatal(c, err)
		}
		between, within = append(between, c.Between), append(within, c.Within)
	}
	if b, w := Median(between), Median(within); math.Abs(b/truth.Between-1) > 0.2 || math.Abs(w/truth.Within-1) > 0.2 {
		t.Errorf("in the middle %g and %g, not %+v", b, w, truth)
	}
	for _, few := range [][]Windowed{nil, exact[:1], {exact[0], {exact[1].Scatter, 1.5}}, {{exact[0].Scatter, 0}, exact[1]}} {
		if _, err := FitWindows(few); !errors.Is(err, ErrFew) {
			t.Errorf("%d windows: %v", len(few), err)
		}
	}
	rising := []Windowed{{Scatter{0, 0.01, 10}, 1}, {Scatter{0, 0.03, 10}, 10}}
	if c, err := FitWindows(rising); err != nil || c.Within != 0 || c.Between <= 0 {
		t.Errorf("scatter that rises with the window: %+v, %v", c, err)
	}
	steep := []Windowed{{Scatter{0, 0.1, 10}, 1}, {Scatter{0, 0.001, 10}, 10}}
	if c, err := FitWindows(steep); err != nil || c.Between != 0 || c.Within <= 0 {
		t.Errorf("scatter that falls faster than the root of the window: %+v, %v", c, err)
	}
	if c, err := FitWindows([]Windowed{{Scatter{0, 0, 10}, 1}, {Scatter{0, 0, 10}, 10}}); err != nil || c != (Components{}) {
		t.Errorf("no scatter: %+v, %v", c, err)
	}
}

func TestFitBetween(t *testing.T) {
	truth := Components{Between: 0.0001, Within: 0.0016}
	at := func(w float64) Windowed { return Windowed{Scatter{0, math.Sqrt(truth.Variance(w)), 10}, w} }
	for _, of := range [][]Windowed{{at(2)}, {at(1), at(9)}} {
		if c, err := FitBetween(of, truth.Within); err != nil || math.Abs(c.Between-truth.Between) > 1e-9 {
			t.Errorf("%d windows: %+v, %v", len(of), c, err)
		}
	}
	if c, err := FitBetween([]Windowed{at(2)}, 1); err != nil || c.Between != 0 {
		t.Errorf("more within than all: %+v, %v", c, err)
	}
	if c, err := FitBetween([]Windowed{{Scatter{0, 0, 10}, 1}}, 0); err != nil || c != (Components{}) {
		t.Errorf("no scatter: %+v, %v", c, err)
	}
	if _, err := FitBetween(nil, 1); !errors.Is(err, ErrFew) {
		t.Error(err)
	}
}
