package workload

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"

	"tare/internal/bench"
)

// fio counts times in bins of 1 ns below 128 ns, and above in 64 equal bins for
// each doubling up to 2^34 ns (stat.h, FIO_IO_U_PLAT_BITS and _GROUP_NR); the
// last takes everything longer. Its json+ report names a bin by its middle.
const (
	fioGrid  = "fio, 64 for each doubling (1.6 %)"
	fioBits  = 6
	fioExact = 2 << fioBits
	fioTop   = 1 << 34
)

// Histograms reads the times from submission to completion.
func (w fio) Histograms(p bench.Params, _ bench.Setting, out bench.Output) ([]bench.Histogram, error) {
	job, err := fioResult(out.Stdout)
	if err != nil {
		return nil, fmt.Errorf("fio: %w", err)
	}
	var hs []bench.Histogram
	for _, part := range job.parts(p["rw"]) {
		h, err := part.from.Latency.histogram(part.prefix + "latency")
		if err != nil {
			return nil, fmt.Errorf("fio: %ss: %w", part.name, err)
		}
		hs = append(hs, h)
	}
	return hs, nil
}

func (l fioLatency) histogram(name string) (bench.Histogram, error) {
	h := bench.Histogram{Name: name, Grid: fioGrid, Min: [2]int64{l.Min, l.Min}, Max: [2]int64{l.Max, l.Max}}
	if l.Bins == nil {
		return h, errors.New(`"bins": not found in the report`)
	}
	for text, count := range l.Bins {
		if count == 0 {
			continue
		}
		low, high, err := fioBin(text)
		if err != nil {
			return h, err
		}
		if high == fioTop {
			high = max(high, l.Max+1)
		}
		h.Bins = append(h.Bins, bench.Bin{Low: low, High: high, Count: count})
	}
	slices.SortFunc(h.Bins, func(a, b bench.Bin) int { return cmp.Compare(a.Low, b.Low) })
	if err := h.Check(); err != nil {
		return h, err
	}
	if n := h.Count(); n != l.N {
		return h, fmt.Errorf("histogram %s: %d requests in the bins, %d in all", name, n, l.N)
	}
	for _, q := range []struct {
		key string
		at  float64
	}{{"95.000000", 0.95}, {"99.000000", 0.99}} {
		if said, ok := l.Percentile[q.key]; ok {
			// The middle of the bin may lie beyond the longest request in it.
			if err := agrees(h, q.at, said, said/fioExact); err != nil {
				return h, err
			}
		}
	}
	return h, nil
}

// fioBin finds the edges of the bin that fio names text.
func fioBin(text string) (low, high int64, err error) {
	mid, err := strconv.ParseInt(text, 10, 64)
	if err != nil || mid < 0 {
		return 0, 0, fmt.Errorf("bin %q: not a time in whole nanoseconds", text)
	}
	if mid < fioExact {
		return mid, mid + 1, nil
	}
	width := int64(1) << (bits.Len64(uint64(mid)) - 1 - fioBits)
	low = mid - width/2
	if low%width != 0 || mid >= fioTop {
		return 0, 0, fmt.Errorf("bin %q: not the middle of a bin of fio's", text)
	}
	return low, low + width, nil
}
