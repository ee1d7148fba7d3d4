package storetest

import (
	"math"

	"tare/internal/bench"
)

// share gives each subject a histogram of n requests of which the metric's
// quantile is about v: their logarithm is normal, in fio's bins.
func share(o *bench.Outcome, m bench.Metric, v, n float64) {
	scale := 1.0
	for ; ; scale *= 10 { // nanoseconds in the metric's unit
		if one, err := m.FromNanoseconds(scale); err != nil || one >= 1 {
			break
		}
	}
	h := bench.Histogram{Name: m.Histogram, Grid: "synthetic, 64 for each doubling (1.6 %)"}
	var given int64
	low, width := int64(0), int64(1)
	for count := int64(n); given < count; low += width {
		for width<<7 <= low {
			width *= 2
		}
		sigmas := math.Log(float64(low+width)/(v*scale))/0.3 + math.Sqrt2*math.Erfinv(2*m.Quantile-1)
		upTo := int64(math.Round(float64(count) * (1 + math.Erf(sigmas/math.Sqrt2)) / 2))
		if upTo > given {
			h.Bins = append(h.Bins, bench.Bin{Low: low, High: low + width, Count: upTo - given})
			given = upTo
		}
	}
	first, last := h.Bins[0], h.Bins[len(h.Bins)-1]
	h.Min, h.Max = [2]int64{first.Low, first.Low}, [2]int64{last.High - 1, last.High - 1}
	for i := range o.Actors {
		if o.Actors[i].Role == bench.Subject {
			o.Actors[i].Histograms = []bench.Histogram{h}
		}
	}
}
