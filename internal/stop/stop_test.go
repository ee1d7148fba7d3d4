package stop

import (
	"math"
	"testing"

	"tare/internal/bench"
	"tare/internal/stats"
)

var rule = bench.Until{Interval: 0.03, Min: 5, Max: 12, Looks: []int{5, 8, 12}}

// around returns n ratios at mid and a relative distance from it to both sides.
func around(mid, spread float64, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = mid * (1 + spread*float64(i%3-1))
	}
	return x
}

func TestDecide(t *testing.T) {
	calm, loud := 0.005, 0.2
	for _, c := range []struct {
		name         string
		ratios       map[string][]float64
		blocks       int
		stop, narrow bool
		look         int
		why          string
	}{
		{"before the first look", map[string][]float64{"lxc": around(1, calm, 4)}, 4, false, false, -1, ""},
		{"all narrow at the first look", map[string][]float64{"lxc": around(1, 0, 5), "docker": around(0.5, 0, 5)}, 5, true, true, 0,
			"after 5 blocks every interval is within ±3 %: docker ±0.0 %, lxc ±0.0 %"},
		{"narrow between two looks", map[string][]float64{"lxc": around(1, calm, 7)}, 7, false, false, -1, ""},
		{"one wide", map[string][]float64{"lxc": around(1, 0, 8), "docker": around(1, loud, 8)}, 8, false, false, 1,
			"after 8 blocks no interval within ±3 %: docker ±20.7 %"},
		{"wide though surely not 1", map[string][]float64{"docker": around(0.1, loud, 8)}, 8, false, false, 1,
			"after 8 blocks no interval within ±3 %: docker ±20.7 %"},
		{"narrow though maybe 1", map[string][]float64{"docker": around(1, calm, 8)}, 8, true, true, 1,
			"after 8 blocks every interval is within ±3 %: docker ±0.5 %"},
		{"wide at the end", map[string][]float64{"docker": around(1, loud, 12)}, 12, true, false, 2,
			"12 blocks, the most allowed; no interval within ±3 %: docker ±13.3 %"},
		{"launches failed", map[string][]float64{"lxc": around(1, 0, 8), "docker": {1, 1}}, 8, false, false, 1,
			"after 8 blocks no interval within ±3 %: docker has none"},
		{"launches failed to the end", map[string][]float64{"lxc": around(1, 0, 12), "docker": nil}, 12, true, false, 2,
			"12 blocks, the most allowed; no interval within ±3 %: docker has none"},
		{"a ratio that cannot be", map[string][]float64{"lxc": append(around(1, 0, 4), 0)}, 5, false, false, 0,
			"after 5 blocks no interval within ±3 %: lxc has none"},
		{"nothing compared", nil, 5, false, false, 0, "after 5 blocks nothing to compare"},
		{"beyond the end", map[string][]float64{"lxc": around(1, loud, 13)}, 13, true, false, -1, "13 blocks, the most allowed"},
	} {
		d := Decide(rule, c.ratios, c.blocks)
		if d.Stop != c.stop || d.Narrow != c.narrow || d.Look != c.look || d.Why != c.why {
			t.Errorf("%s: %+v", c.name, d)
		}
	}
}

func TestDecideSaysTheWidthOfTheIntervalReported(t *testing.T) {
	x := around(0.8, 0.02, 8)
	d := Decide(rule, map[string][]float64{"lxc": x, "docker": nil}, 8)
	if want := stats.LookConfidence(rule.Looks, 1, 0.95); d.Confidence != want {
		t.Errorf("confidence %g, want %g", d.Confidence, want)
	}
	i, err := stats.RatioInterval(x, d.Confidence)
	if err != nil {
		t.Fatal(err)
	}
	if want := (i.High/i.Mid - i.Low/i.Mid) / 2; len(d.Widths) != 1 || math.Abs(d.Widths["lxc"]-want) > 1e-12 {
		t.Errorf("widths %v, want lxc %g", d.Widths, want)
	}
}

func TestEndIsTheFirstLookThatIsEnough(t *testing.T) {
	x := append([]float64{0.7, 1.3}, around(0.8, 0, 10)...)
	tail := func(n int) map[string][]float64 { return map[string][]float64{"lxc": x[:n]} }
	if n, d, ended := End(rule, 12, tail); n != 12 || !ended || d.Look != 2 {
		t.Errorf("%d, %+v, %v", n, d, ended)
	}
	calm := func(n int) map[string][]float64 { return map[string][]float64{"lxc": x[2 : 2+min(n, 10)]} }
	if n, d, ended := End(rule, 12, calm); n != 5 || !ended || !d.Narrow {
		t.Errorf("%d, %+v, %v", n, d, ended)
	}
	if n, _, ended := End(rule, 4, calm); n != 0 || ended {
		t.Errorf("of fewer blocks than a look: %d, %v", n, ended)
	}
}
