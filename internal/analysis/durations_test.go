package analysis

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A quantile lies within a bucket of the time of its rank, whatever the times.
func TestDurations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(0, 300), rapid.Int64Range(0, 1e9), rapid.Int64Range(0, math.MaxInt64)), 1, 50).Draw(t, "times")
		var all, first, rest durations
		for i, ns := range times {
			all.add(ns)
			if i%2 == 0 {
				first.add(ns)
			} else {
				rest.add(ns)
			}
		}
		first.merge(&rest)
		slices.Sort(times)
		q := rapid.Float64Range(0, 1).Draw(t, "q")
		want := float64(times[int(q*float64(len(times)-1))]) / 1e6
		got := all.milliseconds(q)
		if math.Abs(got-want) > want/256+1e-9 || got != first.milliseconds(q) {
			t.Fatalf("%v of %v: %v, merged %v, want %v", q, times, got, first.milliseconds(q), want)
		}
	})
	var none durations
	none.add(-5)
	if got := none.milliseconds(0.5); got != 0 {
		t.Errorf("below 0: %v", got)
	}
	if got := new(durations).milliseconds(0.99); got != 0 {
		t.Errorf("nothing: %v", got)
	}
}
