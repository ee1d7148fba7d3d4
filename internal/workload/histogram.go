package workload

import (
	"fmt"
	"math"

	"tare/internal/bench"
)

// agrees checks what a program says of a quantile, in nanoseconds and rounded
// by at most slack, against its own histogram. Programs round the rank in
// different ways, so the requests right before and after are as good, and name
// a bin by its middle, which may lie beyond the shortest and longest request.
func agrees(h bench.Histogram, q, said, slack float64) error {
	n := float64(h.Count())
	h.Min[0], h.Max[0], h.Max[1] = 0, 0, math.MaxInt64
	low, high := h.Quantile(max(0, q-1/n)).Low, h.Quantile(min(1, q+1/n)).High
	if said < float64(low)-slack || said > float64(high)+slack {
		return fmt.Errorf("histogram %s: its bins put percentile %g between %d and %d ns, the program at %.0f", h.Name, 100*q, low, high, said)
	}
	return nil
}

// withBin are the bins with one more, which is put together with the last if both begin alike.
func withBin(bins []bench.Bin, b bench.Bin) []bench.Bin {
	if k := len(bins) - 1; k >= 0 && bins[k].Low == b.Low && bins[k].Count <= math.MaxInt64-b.Count {
		bins[k].Count += b.Count
		return bins
	}
	return append(bins, b)
}

// printed is what a time in ms stands for, in ns: all that is printed so where the last digit is digit.
func printed(label, text string, digit float64) (bounds [2]int64, err error) {
	ms, err := number(text)
	if err != nil || ms < 0 || ms > 1e9 {
		return bounds, fmt.Errorf("%q: %q is not a time", label, text)
	}
	return [2]int64{int64(math.Max(0, math.Floor(ms*1e6-digit/2))), int64(math.Ceil(ms*1e6 + digit/2))}, nil
}
