package analysis

import (
	"math"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/result"
)

// bins of 10 ns up to 100000 ns, as many requests in each as named.
func histogram(name string, counts map[int64]int64) bench.Histogram {
	h := bench.Histogram{Name: name, Grid: "tens"}
	for low := int64(0); low < 100_000; low += 10 {
		if n := counts[low]; n > 0 {
			h.Bins = append(h.Bins, bench.Bin{Low: low, High: low + 10, Count: n})
			if len(h.Bins) == 1 {
				h.Min = [2]int64{low + 1, low + 1}
			}
			h.Max = [2]int64{low + 7, low + 7}
		}
	}
	return h
}

var p99 = bench.Metric{Name: "p99_latency", Unit: "us", Better: bench.LowerIsBetter, Combine: bench.Merge, Histogram: "latency", Quantile: 0.99}

// tailed is a run of which launch gives a histogram for each platform and block.
func tailed(t *testing.T, blocks int, launch func(platform string, block int) []bench.Histogram) *result.Result {
	t.Helper()
	some := make([]float64, blocks)
	for i := range some {
		some[i] = 1 + float64(i%3)/100
	}
	return analyze(t, crafted{metric: p99, platform: []string{"native", "docker"}, blocks: blocks,
		values: map[string][]float64{"native": some, "docker": some},
		edit: func(o *bench.Outcome) {
			o.Actors[0].Histograms = launch(o.Actors[0].Platform.Name, o.Block)
		}}.write(t))
}

// The percentile of launches of different weight is that of all requests, far
// from the mean of the launches' percentiles.
func TestPercentilesAreOfAllRequestsTogether(t *testing.T) {
	r := tailed(t, 5, func(platform string, block int) []bench.Histogram {
		if block == 5 { // few requests, all of them slow
			return []bench.Histogram{histogram("latency", map[int64]int64{50_000: 1000})}
		}
		return []bench.Histogram{histogram("latency", map[int64]int64{1000: 99_000, 2000: 990, 3000: 10})}
	})
	l := r.Cases[0].Latency
	if len(l) != 2 || !l[0].Baseline || l[1].Platform != "docker" {
		t.Fatalf("%+v", l)
	}
	if l[0].Launches != 5 || l[0].Requests != 401_000 {
		t.Errorf("%d requests of %d launches", l[0].Requests, l[0].Launches)
	}
	want := map[string]result.Bounds{"p50": {Low: 1001, High: 1010}, "p90": {Low: 1001, High: 1010}, "p99": {Low: 2000, High: 2010}, "p99.9": {Low: 50_000, High: 50_007}}
	for _, p := range l[0].Percentiles {
		if p.Bounds == nil || *p.Bounds != want[p.Name] {
			t.Errorf("%s is %+v, want %+v", p.Name, p.Bounds, want[p.Name])
		}
	}
	if *l[0].Max != (result.Bounds{Low: 50_007, High: 50_007}) {
		t.Errorf("max %+v", l[0].Max)
	}
}

// A percentile beyond which fewer than ten requests lie is refused with their number.
func TestAPercentileNeedsRequestsBeyondIt(t *testing.T) {
	for _, c := range []struct {
		perLaunch int64
		given     bool
	}{{1998, false}, {2000, true}} {
		r := tailed(t, 5, func(string, int) []bench.Histogram {
			return []bench.Histogram{histogram("latency", map[int64]int64{1000: c.perLaunch})}
		})
		l := r.Cases[0].Latency[1]
		p := l.Percentiles[3]
		if (p.Bounds != nil) != c.given {
			t.Fatalf("of %d requests: %+v", l.Requests, p)
		}
		if !c.given && !strings.Contains(p.Why, "9 of 9990 requests lie beyond; at least 10") {
			t.Errorf("why: %s", p.Why)
		}
		// No single launch has ten beyond it, so there is no ratio either way.
		if p.Effect == nil || p.Effect.Verdict != result.Refused || !strings.Contains(p.Effect.Why, "10 of 10 launches have fewer than 10") {
			t.Errorf("effect %+v", p.Effect)
		}
		if row := r.Cases[0].Rows[1]; strings.Contains(strings.Join(row.Warnings, "\n"), "beyond their p99_latency") {
			t.Errorf("p99 has enough requests beyond it: %q", row.Warnings)
		}
		last := l.Curve[len(l.Curve)-1]
		if beyond := float64(l.Requests) * (1 - last.Share); beyond < minBeyond {
			t.Errorf("the curve goes on to %v, with %v requests beyond", last.Share, beyond)
		}
	}
}

// The launch is the unit: a ratio comes from the launches' own percentiles in
// pairs. One launch with a thousand times the requests weighs as much as any.
func TestTailRatiosAreByLaunch(t *testing.T) {
	r := tailed(t, 6, func(platform string, block int) []bench.Histogram {
		low, n := int64(10_000+500*block), int64(20_000)
		if block == 6 {
			n *= 1000
		}
		if platform == "docker" {
			low = low * (110 + int64(block%2)) / 100 / 10 * 10
		}
		return []bench.Histogram{histogram("latency", map[int64]int64{low: n})}
	})
	for _, p := range r.Cases[0].Latency[1].Percentiles {
		e := p.Effect
		if e == nil || e.N != 6 || e.Verdict != result.Differs || math.Abs(e.Ratio-1.105) > 0.002 || e.Low < 1.09 || e.High > 1.12 {
			t.Errorf("%s: %+v, want about 1.105 of 6 launches", p.Name, e)
		}
	}
	if e := r.Cases[0].Latency[0].Percentiles[0].Effect; e != nil {
		t.Errorf("the baseline is compared with itself: %+v", e)
	}
}

// An interval narrower than a bin says so, with the percentiles and with the case's own row.
func TestBinsThatAreWiderThanTheInterval(t *testing.T) {
	r := tailed(t, 6, func(platform string, block int) []bench.Histogram {
		return []bench.Histogram{histogram("latency", map[int64]int64{100: 20_000, 110: 20_000, 120: int64(100 * block)})}
	})
	c := r.Cases[0]
	for _, e := range []*result.Effect{c.Latency[1].Percentiles[0].Effect, c.Rows[1].Effect} {
		if e == nil || !strings.Contains(e.Why, "narrower than the bins of the histogram (8") {
			t.Errorf("%+v", e)
		}
	}
}

// A metric of a tail that launches have too few requests for says so, the baseline's too.
func TestShortTailsWarnTheirRows(t *testing.T) {
	r := tailed(t, 5, func(platform string, block int) []bench.Histogram {
		return []bench.Histogram{histogram("latency", map[int64]int64{1000: 700 + 100*int64(block)})}
	})
	for _, row := range r.Cases[0].Rows {
		if text := strings.Join(row.Warnings, "\n"); !strings.Contains(text, "2 of 5 launches have fewer than 10 requests beyond their p99_latency") {
			t.Errorf("%s: %q", row.Platform, row.Warnings)
		}
	}
}

func TestHistogramsThatCannotBeMerged(t *testing.T) {
	r := tailed(t, 5, func(platform string, block int) []bench.Histogram {
		h := histogram("latency", map[int64]int64{1000: 20_000})
		switch {
		case platform == "docker" && block == 2:
			return nil
		case platform == "native" && block == 2:
			h.Grid = "others"
		}
		return []bench.Histogram{h}
	})
	l := r.Cases[0].Latency
	if l[0].Percentiles != nil || !strings.Contains(l[0].Why, "bins of others") {
		t.Errorf("two grids: %+v", l[0])
	}
	if l[1].Launches != 4 || !strings.Contains(l[1].Why, "1 of 5 finished launches have no histogram") {
		t.Errorf("one is missing: %d launches, %s", l[1].Launches, l[1].Why)
	}
	if none := tailed(t, 3, func(string, int) []bench.Histogram { return nil }); none.Cases[0].Latency != nil {
		t.Errorf("a run without histograms: %+v", none.Cases[0].Latency)
	}
}

// What is rounded tells no smaller difference than its steps.
func TestRoundedTo(t *testing.T) {
	m := bench.Metric{Name: "mean_latency", Unit: "ms", Step: 0.1}
	for _, c := range []struct {
		e      result.Effect
		step   float64
		median float64
		why    string
	}{
		{result.Effect{Verdict: result.Equivalent, Ratio: 1, Low: 1, High: 1}, 0.1, 0.2, "steps of the program's output (0.1 ms, 50 %)"},
		{result.Effect{Verdict: result.Equivalent, Ratio: 1, Low: 1, High: 1}, 0, 0.2, ""},
		{result.Effect{Verdict: result.Inconclusive, Ratio: 1, Low: 0.9, High: 1.1}, 0.1, 10, ""},
		{result.Effect{Verdict: result.Refused}, 0.1, 0.2, ""},
	} {
		m.Step = c.step
		if got := roundedTo(&c.e, m, c.median); (got == "") != (c.why == "") || !strings.Contains(got, c.why) {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
