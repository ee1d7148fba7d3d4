package forecast

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tare/internal/analysis/stats"
)

// measuring is a case of platforms whose trials cost so many seconds besides the planned window.
func measuring(fixed, planned float64, platforms ...stats.Components) *Case {
	c := &Case{Window: planned, costs: costs{trial: map[string]float64{}, trials: map[string]int{}, shared: fixed + planned, sharing: 1}}
	for i := range platforms {
		name := string(rune('a' + i))
		c.Rows = append(c.Rows, Row{Platform: name, components: &platforms[i]})
		c.trial[name], c.trials[name] = fixed+planned, 1
	}
	return c
}

// total is what a window takes in seconds, by the numbers recommended one by one.
func total(c *Case, truth []stats.Components, window, width float64, least int) float64 {
	most, sum := 0, 0.0
	for i, r := range c.Rows {
		n := stats.Scatter{SD: math.Sqrt(truth[i].Variance(window)), N: 100}.ToBeNarrow(width, 0.98).N
		if n == 0 {
			return math.Inf(1)
		}
		n = max(n, least)
		most = max(most, n)
		sum += float64(n) * (c.trial[r.Platform] - c.Window + window)
	}
	return sum + float64(most)*(c.shared-c.Window+window)
}

// best is the least on a fine grid of the windows that are looked at.
func best(c *Case, truth []stats.Components, width float64, least int) (took, at float64) {
	took = math.Inf(1)
	for w := 1.0; w <= 20*c.Window; w *= 1.02 {
		if t := total(c, truth, w, width, least); t < took {
			took, at = t, w
		}
	}
	return took, at
}

// The window recommended takes at most a tenth longer than the best one.
func TestTheWindowIsNearTheBest(t *testing.T) {
	const width, least = 0.015, 5
	narrowing := stats.NewNarrowing(width, 0.98)
	for _, fixed := range []float64{0.3, 2, 20} {
		for _, truth := range [][]stats.Components{
			{{Between: 0.0001, Within: 0.004}},
			{{Between: 0.0004, Within: 0.0004}},
			{{Between: 0, Within: 0.01}},
			{{Between: 0.0002, Within: 0}},
			{{Between: 0.0001, Within: 0.001}, {Between: 0.0009, Within: 0.02}},
		} {
			c := measuring(fixed, 5, truth...)
			c.better(&caseData{narrowing: narrowing}, least)
			window := 5.0
			if c.Better != nil {
				window = c.Better.Window
			}
			got := total(c, truth, window, width, least)
			want, at := best(c, truth, width, least)
			t.Logf("launches cost %g s, %v: %g s take %.0f s, the best %.1f s %.0f s", fixed, truth, window, got, at, want)
			if got > 1.1*want {
				t.Errorf("launches cost %g s, %v: windows of %g s take %.0f s, of %.1f s %.0f s", fixed, truth, window, got, at, want)
			}
		}
	}
}

// With many launches it is that of Kalibera and Jones.
func TestManyLaunchesAskForTheWindowOfTheBook(t *testing.T) {
	const width = 0.004
	narrowing := stats.NewNarrowing(width, 0.98)
	for _, c := range []struct {
		fixed float64
		stats.Components
	}{{2, stats.Components{Between: 0.0004, Within: 0.008}}, {20, stats.Components{Between: 0.001, Within: 0.02}}, {8, stats.Components{Between: 0.0006, Within: 0.001}}} {
		k := measuring(c.fixed, 5, c.Components)
		least, at := math.Inf(1), 0.0
		for _, w := range windows(5) {
			if n, took := k.toNarrow(narrowing, w, stats.MinTested); took < least {
				if n < 50 {
					t.Fatalf("%d launches are not many", n)
				}
				least, at = took, w
			}
		}
		book := math.Sqrt(c.fixed * c.Within / c.Between)
		if math.Abs(math.Log(at/book)) > 0.25 {
			t.Errorf("launches cost %g s, %v: %g s, the book %.2f s", c.fixed, c.Components, at, book)
		}
	}
}

// Learnt from launches rather than known, the window still takes at most a tenth longer than the
// best, in the middle of simulated archives.
func TestTheWindowLearntIsNearTheBest(t *testing.T) {
	const width, least, fixed = 0.015, 5, 2.0
	narrowing := stats.NewNarrowing(width, 0.98)
	rng := rand.New(rand.NewPCG(51, 52))
	truth := []stats.Components{{Between: 0.0002, Within: 0.006}}
	want, _ := best(measuring(fixed, 1, truth...), truth, width, least)
	var over []float64
	for range 100 {
		var of []stats.Windowed
		for _, w := range []float64{1, 5, 20} { // three runs of ten blocks each
			var runs [][]float64
			for range 3 {
				var ratios []float64
				for range 10 {
					ratios = append(ratios, math.Exp(rng.NormFloat64()*math.Sqrt(truth[0].Variance(w))))
				}
				runs = append(runs, ratios)
			}
			s, err := stats.ScatterOfRuns(runs)
			if err != nil {
				t.Fatal(err)
			}
			of = append(of, stats.Windowed{Scatter: s, Window: w})
		}
		found, err := stats.FitWindows(of)
		if err != nil {
			t.Fatal(err)
		}
		c := measuring(fixed, 1, found)
		c.better(&caseData{narrowing: narrowing}, least)
		window := 1.0
		if c.Better != nil {
			window = c.Better.Window
		}
		over = append(over, total(c, truth, window, width, least)/want-1)
	}
	t.Logf("in the middle %.1f %% longer than the best, 90th percentile %.1f %%", 100*stats.Median(over), 100*stats.Quantile(over, 0.9))
	if m := stats.Median(over); m > 0.1 {
		t.Errorf("in the middle %.1f %% longer than the best", 100*m)
	}
}

func TestNoWindowIsSaidWhereNoneIsKnown(t *testing.T) {
	narrowing := stats.NewNarrowing(0.015, 0.98)
	for says, change := range map[string]func(*Case){
		MoreWindows:               func(c *Case) { c.Rows[0].components, c.Rows[1].components = nil, nil },
		"not every row's scatter": func(c *Case) { c.Rows[1].components = nil },
		"until it is through":     func(c *Case) { c.Rows[1].through = true },
		"no window makes":         func(c *Case) { c.Rows[0].components.Between = 1 },
		"no other window": func(c *Case) {
			c.Rows[0].components.Within, c.Rows[1].components.Within = 0, 0
			c.trial["a"], c.trial["b"], c.shared = 100, 100, 100
		},
	} {
		c := measuring(2, 5, stats.Components{Between: 0.0001, Within: 0.01}, stats.Components{Between: 0.0001, Within: 0.01})
		change(c)
		c.better(&caseData{narrowing: narrowing}, 5)
		if c.Better != nil || !strings.Contains(c.Why, says) {
			t.Errorf("%q: %+v, %q", says, c.Better, c.Why)
		}
	}
}
