package analysis

import "math/bits"

// A durations counts times in nanoseconds, in buckets that are at most 1/128 of their times wide.
type durations struct {
	counts []int // by bucket
	n      int
}

// half is how many buckets there are from a power of two to the next.
const half = 128

// add counts a time; one below 0 as 0.
func (d *durations) add(ns int64) {
	if d.counts == nil {
		d.counts = make([]int, half*(64-bits.Len(half)+2))
	}
	v := uint64(max(0, ns))
	shift := max(0, bits.Len64(v)-bits.Len(half))
	d.counts[half*shift+int(v>>shift)]++
	d.n++
}

// merge adds the times of another.
func (d *durations) merge(of *durations) {
	if d.counts == nil {
		d.counts = make([]int, len(of.counts))
	}
	for i, n := range of.counts {
		d.counts[i] += n
	}
	d.n += of.n
}

// milliseconds is the quantile q, the middle of its bucket; 0 if nothing was counted.
func (d *durations) milliseconds(q float64) float64 {
	rank := int(q * float64(d.n-1))
	for i, n := range d.counts {
		if rank -= n; rank < 0 {
			shift := max(0, i/half-1)
			low, width := uint64(i-half*shift)<<shift, uint64(1)<<shift
			return (float64(low) + float64(width-1)/2) / 1e6
		}
	}
	return 0
}
