package report

import (
	"math"
	"strings"
	"testing"

	"tare/internal/result"

	"pgregory.net/rapid"
)

func TestRatioScaleHoldsItsRatiosInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ratios := rapid.SliceOfN(rapid.Float64Range(1e-6, 1e6), 2, 20).Draw(t, "ratios")
		s := ratioScale(ratios, 0.03, 10, 290)
		for _, r := range ratios {
			if r < s.low || r > s.high || s.at(r) < 10 || s.at(r) > 290 {
				t.Fatalf("%v lies outside %+v", r, s)
			}
			if (r < ratios[0]) && s.at(r) > s.at(ratios[0]) {
				t.Fatalf("%v is right of %v", r, ratios[0])
			}
		}
		ticks := s.ticks(34)
		if len(ticks) == 0 || ticks[0] != 1 {
			t.Fatalf("no tick at 1: %v", ticks)
		}
		for i, a := range ticks {
			for _, b := range ticks[:i] {
				if math.Abs(s.at(a)-s.at(b)) < 34 {
					t.Fatalf("ticks %v and %v collide", a, b)
				}
			}
		}
	})
}

func TestLinearTopIsRoundAndCloseAbove(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64Range(1e-9, 1e15).Draw(t, "v")
		top, step := linearTop(v)
		if n := top / step; top < v*(1-1e-12) || top > 2*v || n > 5.001 || n < 2 {
			t.Fatalf("%v: top %v in steps of %v", v, top, step)
		}
	})
}

// An axis ends for every number there is.
func TestAxisOfAnyNumberEnds(t *testing.T) {
	all := []float64{0, 5e-324, 1e-310, 1e-300, 1, 1e300, 1.7e308, math.MaxFloat64, math.Inf(1), math.NaN(), -1.7e308}
	for _, v := range all {
		for name, axis := range map[string]func(float64) (top, step float64){"linear": linearTop, "binary": binaryTop} {
			top, step := axis(v)
			if ticks := ticksTo(top, step); len(ticks) > mostTicks {
				t.Errorf("%s axis to %v: %d lines", name, v, len(ticks))
			}
		}
		for _, low := range all {
			if ticks := timeTicks(low, v); len(ticks) > 3*mostTicks {
				t.Errorf("logarithmic axis from %v to %v: %d lines", low, v, len(ticks))
			}
		}
		lines := []result.Line{{Quantity: "memory", Unit: "bytes", T: []float64{0, 1}, Y: []float64{v, 1}}, {Quantity: "cpu", Unit: "cores", T: []float64{0, v}, Y: []float64{v, v}}}
		for _, p := range panelsOf(&result.Series{Window: [2]float64{0, v}, Lines: lines}) {
			if len(p.Plot) > 100_000 || strings.Contains(string(p.Plot), "NaN") || strings.Contains(string(p.Plot), "Inf") {
				t.Errorf("series with %v: %.300s", v, p.Plot)
			}
		}
		points := []result.SweepPoint{{Level: "1", X: 1, Low: v, Median: v, High: v}, {Level: "2", X: 2, Low: 1, Median: 2, High: 3}}
		for _, p := range sweepViews([]result.Sweep{{Axis: "x", Lines: []result.SweepLine{{Platform: "native", Points: points}}}}) {
			if len(p.Plot) > 100_000 {
				t.Errorf("sweep with %v: %.300s", v, p.Plot)
			}
		}
	}
}
