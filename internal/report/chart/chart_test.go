package chart

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestRatioScaleHoldsItsRatiosInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ratios := rapid.SliceOfN(rapid.Float64Range(1e-6, 1e6), 2, 20).Draw(t, "ratios")
		s := NewRatios(ratios, 0.03)
		for _, r := range ratios {
			if r < s.axis.Low || r > s.axis.High || s.at(r) < 10 || s.at(r) > 290 {
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
			if ticks := Linear(low, v, func(float64) string { return "" }).Ticks; len(ticks) > 3*mostTicks {
				t.Errorf("linear axis from %v to %v: %d lines", low, v, len(ticks))
			}
			if ticks := decades(low, v); len(ticks) > 3*mostTicks {
				t.Errorf("logarithmic axis from %v to %v: %d lines", low, v, len(ticks))
			}
		}
	}
}

// Names of columns that are wider than a cell are broken after their commas.
func TestColumnLines(t *testing.T) {
	for name, want := range map[string][]string{
		"idle": {"idle"}, "weights, busy 25": {"weights, busy 25"}, "adversarial (UDP)": {"adversarial (UDP)"},
		"beside, kind cpu, placement apart": {"beside, kind cpu", "placement apart"},
		"beside a neighbour that computes":  {"beside a neighbour", "that computes"},
	} {
		if got := columnLines(name); !slices.Equal(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestFolded(t *testing.T) {
	for words, want := range map[string][2]string{
		"DNF 3 of 3": {"DNF 3 of 3", ""}, "time limit reached 3 of 3": {"time limit", "reached 3 of 3"}, "no pair of launches": {"no pair of", "launches"}, "unfair: huge pages": {"unfair", "huge pages"},
		"31 %, failed 1 of 3, missing 1 of 3": {"31 %", "failed 1 of 3, missing 1 of 3"}, "aVeryLongWordWithoutAnyBlank": {"aVeryLongWordWithoutAnyBlank", ""},
	} {
		if first, rest := folded(words); first != want[0] || rest != want[1] {
			t.Errorf("%q: %q, %q", words, first, rest)
		}
	}
}
