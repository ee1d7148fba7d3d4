package report

import (
	"math"
	"strings"
	"testing"

	"tare/internal/result"
)

// A picture can be drawn of every number there is.
func TestPictureOfAnyNumber(t *testing.T) {
	for _, v := range []float64{0, 5e-324, 1e-310, 1e-300, 1, 1e300, 1.7e308, math.MaxFloat64, math.Inf(1), math.NaN(), -1.7e308} {
		lines := []result.Line{{Quantity: "memory", Unit: "bytes", T: []float64{0, 1}, Y: []float64{v, 1}}, {Quantity: "cpu", Unit: "cores", T: []float64{0, v}, Y: []float64{v, v}}}
		for _, p := range panelsOf(&result.Series{Window: [2]float64{0, v}, Lines: lines}) {
			if len(p.Plot) > 100_000 || strings.Contains(string(p.Plot), "NaN") || strings.Contains(string(p.Plot), "Inf") {
				t.Errorf("series with %v: %.300s", v, p.Plot)
			}
		}
		points := []result.SweepPoint{{Level: "1", X: 1, Low: v, Median: v, High: v}, {Level: "2", X: 2, Low: 1, Median: 2, High: 3}}
		_, views := sweepViews(&result.Result{Sweeps: []result.Sweep{{Axis: "x", Lines: []result.SweepLine{{Platform: "native", Points: points}}}}})
		for _, p := range views {
			if len(p.Plot) > 100_000 {
				t.Errorf("sweep with %v: %.300s", v, p.Plot)
			}
		}
	}
}
