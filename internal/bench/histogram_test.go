package bench

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// grid is a log-linear grid of 64 bins for each doubling.
func grid(v int64) (low, high int64) {
	width := int64(1)
	for v/width >= 128 {
		width *= 2
	}
	return v / width * width, v/width*width + width
}

func counted(values []int64) Histogram {
	h := Histogram{Name: "latency", Grid: "test", Min: [2]int64{math.MaxInt64, math.MaxInt64}}
	bins := map[int64]*Bin{}
	for _, v := range values {
		low, high := grid(v)
		if bins[low] == nil {
			bins[low] = &Bin{Low: low, High: high}
		}
		bins[low].Count++
		for i := range 2 {
			h.Min[i], h.Max[i] = min(h.Min[i], v), max(h.Max[i], v)
		}
	}
	for _, b := range bins {
		h.Bins = append(h.Bins, *b)
	}
	slices.SortFunc(h.Bins, func(a, b Bin) int { return int(a.Low - b.Low) })
	return h
}

var samples = rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(1, 300), rapid.Int64Range(1, 1e10)), 1, 60)

func merge(t rapid.TB, hs ...Histogram) Histogram {
	t.Helper()
	h, err := MergeHistograms(hs...)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// Merging is associative and commutative, keeps every request, and is exactly
// the histogram of all samples together.
func TestMergeIsTheHistogramOfAllSamples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := samples.Draw(t, "a"), samples.Draw(t, "b"), samples.Draw(t, "c")
		x, y, z := counted(a), counted(b), counted(c)
		want := counted(slices.Concat(a, b, c))
		for name, got := range map[string]Histogram{
			"at once": merge(t, x, y, z), "left": merge(t, merge(t, x, y), z), "right": merge(t, x, merge(t, y, z)), "reversed": merge(t, z, y, x),
		} {
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: %+v, want %+v", name, got, want)
			}
		}
		if n := want.Count(); n != int64(len(a)+len(b)+len(c)) {
			t.Fatalf("%d requests of %d", n, len(a)+len(b)+len(c))
		}
	})
}

// The quantile of the samples lies within its bounds, which are at most a bin apart.
func TestQuantileHoldsThatOfTheSamples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := samples.Draw(t, "a"), samples.Draw(t, "b")
		permille := rapid.IntRange(1, 1000).Draw(t, "permille")
		all := slices.Concat(a, b)
		slices.Sort(all)
		rank := max(1, (permille*len(all)+999)/1000)
		truth := all[rank-1]
		got := merge(t, counted(a), counted(b)).Quantile(float64(permille) / 1000)
		low, high := grid(truth)
		if got.Low > truth || got.High < truth || got.Low < low || got.High > high {
			t.Fatalf("%d permille of %v: %+v, the truth is %d in its bin [%d, %d)", permille, all, got, truth, low, high)
		}
		if want := int64(len(all) - rank); got.Beyond != want {
			t.Fatalf("%d beyond, want %d", got.Beyond, want)
		}
	})
}

func TestQuantileOfARoundRank(t *testing.T) {
	h := Histogram{Bins: []Bin{{0, 10, 99}, {10, 20, 1}}, Max: [2]int64{14, 16}}
	for q, want := range map[float64]Quantile{0.99: {0, 10, 1}, 0.991: {14, 16, 0}, 1: {14, 16, 0}, 0.5: {0, 10, 50}, 1e-9: {0, 10, 99}} {
		if got := h.Quantile(q); got != want {
			t.Errorf("%v: %+v, want %+v", q, got, want)
		}
	}
}

// 0.99 times 33100 is not a whole number in floating point.
func TestQuantileRankIsNotRoundedUpByFloatingPoint(t *testing.T) {
	for n := int64(100); n <= 1_000_000; n += 100 {
		h := Histogram{Bins: []Bin{{0, 1, n / 100 * 99}, {1, 2, n / 100}}, Max: [2]int64{2, 2}}
		if got := h.Quantile(0.99); got.Low != 0 {
			t.Fatalf("of %d requests: %+v", n, got)
		}
	}
}

func TestMergeRefuses(t *testing.T) {
	good := Histogram{Name: "latency", Grid: "g", Bins: []Bin{{10, 20, 1}}, Min: [2]int64{10, 10}, Max: [2]int64{12, 12}}
	for says, bad := range map[string]Histogram{
		"no requests":             {Name: "latency", Grid: "g"},
		"latency in bins of g":    {Name: "latency", Grid: "h", Bins: good.Bins, Min: good.Min, Max: good.Max},
		"write_latency":           {Name: "write_latency", Grid: "g", Bins: good.Bins, Min: good.Min, Max: good.Max},
		"from 15 to 25 ns":        {Name: "latency", Grid: "g", Bins: []Bin{{15, 25, 1}}, Min: [2]int64{16, 16}, Max: [2]int64{17, 17}},
		"with 0 requests":         {Name: "latency", Grid: "g", Bins: []Bin{{10, 20, 0}}, Min: good.Min, Max: good.Max},
		"shortest":                {Name: "latency", Grid: "g", Bins: good.Bins, Min: [2]int64{30, 30}, Max: good.Max},
		"longest":                 {Name: "latency", Grid: "g", Bins: good.Bins, Min: good.Min, Max: [2]int64{30, 30}},
		"9223372036854775807":     {Name: "latency", Grid: "g", Bins: []Bin{{10, 20, math.MaxInt64}}, Min: good.Min, Max: good.Max},
		"after one that ends at ": {Name: "latency", Grid: "g", Bins: []Bin{{10, 20, 1}, {5, 8, 1}}, Min: good.Min, Max: good.Max},
	} {
		if _, err := MergeHistograms(good, bad); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v does not say %q", err, says)
		}
	}
	if _, err := MergeHistograms(); err == nil {
		t.Error("nothing was merged")
	}
}

func TestHistogramInJSON(t *testing.T) {
	h := Histogram{Name: "latency", Grid: "g", Bins: []Bin{{10, 20, 3}, {20, 30, 1}}, Min: [2]int64{10, 11}, Max: [2]int64{20, 20}}
	text, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"name":"latency","grid":"g","bins":[[10,20,3],[20,30,1]],"min":[10,11],"max":[20,20]}`; string(text) != want {
		t.Errorf("%s, want %s", text, want)
	}
	var back Histogram
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, h) {
		t.Errorf("%+v, %v", back, err)
	}
	for _, bad := range []string{`{"bins":[[1,2]]}`, `{"bins":[[1,2,3,4]]}`, `{"bins":[{"low":1}]}`, `{"bins":[[1,2,"x"]]}`} {
		if err := json.Unmarshal([]byte(bad), &back); err == nil || !strings.Contains(err.Error(), bad[9:len(bad)-2]) {
			t.Errorf("%s: error %v does not quote the bin", bad, err)
		}
	}
}
