package stop

import (
	"math"
	"testing"

	"tare/internal/analysis/stats"
	"tare/internal/bench"
	"tare/internal/result"
)

func rule(family int) *Rule {
	return &Rule{Until: bench.Until{Interval: 0.03, Min: 5, Max: 12, Looks: []int{5, 8, 12}}, Margin: 0.05, Family: family}
}

// around returns n ratios at mid and a relative distance from it to both sides.
func around(mid, spread float64, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = mid * (1 + spread*float64(i%3-1))
	}
	return x
}

func TestAsk(t *testing.T) {
	for _, c := range []struct {
		name    string
		ratios  []float64
		family  int
		ends    bool
		verdict result.Verdict
		says    string
	}{
		{"narrow", around(1, 0.005, 8), 1, true, "", "lxc ±0.5 %"},
		{"narrow is enough, also where it decides", around(0.5, 0.005, 8), 1, true, "", "lxc ±0.5 %"},
		{"wide, and surely not 1", around(0.1, 0.2, 8), 1, true, result.Differs, "lxc differs"},
		{"wide, and maybe 1", around(1, 0.2, 8), 1, false, "", "lxc ±20.7 %"},
		{"decided alone", around(1.2, 0.08, 8), 1, true, result.Differs, "lxc differs"},
		{"not decided among many", around(1.2, 0.08, 8), 100, false, "", "lxc ±8.0 %"},
		{"too few", []float64{1, 1}, 1, false, "", "lxc has no ratio"},
		{"a ratio that cannot be", append(around(1, 0, 4), 0), 1, false, "", "lxc has no ratio"},
		{"none", nil, 1, false, "", "lxc has no ratio"},
	} {
		a := rule(c.family).Ask(c.ratios)
		if a.Ends != c.ends || a.Verdict != c.verdict || a.say("lxc") != c.says {
			t.Errorf("%s: %+v, says %q", c.name, a, a.say("lxc"))
		}
		levels := stats.LevelsOf(3, 0.95)
		if want := map[bool]float64{true: levels.Strict, false: levels.Usual}[a.Verdict != ""]; a.Confidence != want {
			t.Errorf("%s: confidence %g, want %g", c.name, a.Confidence, want)
		}
	}
	wide := rule(1)
	wide.Interval, wide.Margin = 0.005, 0.1
	if a := wide.Ask(around(1, 0.02, 8)); a.Verdict != result.Equivalent || a.say("lxc") != "lxc is equivalent" {
		t.Errorf("wider than asked, and within the margin: %+v", a)
	}
}

func TestAskSaysTheWidthOfTheInterval(t *testing.T) {
	x := around(0.99, 0.1, 8)
	a := rule(1).Ask(x)
	i, err := stats.RatioInterval(x, a.Confidence)
	if err != nil {
		t.Fatal(err)
	}
	if want := (i.High/i.Mid - i.Low/i.Mid) / 2; math.Abs(a.Width-want) > 1e-12 {
		t.Errorf("width %g, want %g", a.Width, want)
	}
}

func TestEndIsTheFirstLookThatIsEnough(t *testing.T) {
	x := append([]float64{0.5, 1.9}, around(1, 0, 10)...)
	if n, a, ended := rule(1).End(12, func(n int) []float64 { return x[:n] }); n != 12 || !ended || a.Ends {
		t.Errorf("%d, %+v, %v", n, a, ended)
	}
	calm := func(n int) []float64 { return x[2 : 2+min(n, 10)] }
	if n, a, ended := rule(1).End(12, calm); n != 5 || !ended || !a.Ends {
		t.Errorf("%d, %+v, %v", n, a, ended)
	}
	if n, _, ended := rule(1).End(4, calm); n != 0 || ended {
		t.Errorf("of fewer blocks than a look: %d, %v", n, ended)
	}
}
