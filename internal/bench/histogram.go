package bench

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
)

// A Histogram counts requests by their latency, in bins. The bins are the program's own. Values are
// never rebinned. So histograms of one Grid add up without error, and their percentiles are exact
// to the width of a bin.
type Histogram struct {
	// Name is "latency", or for a mixed load "read_latency" or "write_latency".
	Name string `json:"name"`
	// Grid names the program and its bin widths. Only histograms of one grid add up.
	Grid string `json:"grid"`
	// Bins are those with a count above zero, ascending, without overlap, in nanoseconds.
	Bins []Bin `json:"bins"`
	// Min and Max bound the shortest and the longest request as finely as the program reports them,
	// in nanoseconds.
	Min [2]int64 `json:"min"`
	Max [2]int64 `json:"max"`
}

// Bin counts the requests that took at least Low and less than High nanoseconds. It is written
// [low, high, count].
type Bin struct {
	Low   int64 `json:"low"`
	High  int64 `json:"high"`
	Count int64 `json:"count"`
}

// MaxBins is how many bins a histogram may have; fio has 1856, sysbench 1024.
const MaxBins = 4096

// MarshalJSON writes a bin as an array, which takes a third of the space of an object.
func (b Bin) MarshalJSON() ([]byte, error) { return json.Marshal([3]int64{b.Low, b.High, b.Count}) }

// UnmarshalJSON reads what MarshalJSON writes.
func (b *Bin) UnmarshalJSON(text []byte) error {
	var v []int64
	if err := json.Unmarshal(text, &v); err != nil {
		return fmt.Errorf("bin %s: %w", text, err)
	}
	if len(v) != 3 {
		return fmt.Errorf("bin %s: not [low, high, count]", text)
	}
	*b = Bin{v[0], v[1], v[2]}
	return nil
}

// Check returns an error unless h fulfils what its fields' comments say.
func (h Histogram) Check() error {
	if len(h.Bins) == 0 {
		return fmt.Errorf("histogram %s: it has no requests", h.Name)
	}
	if len(h.Bins) > MaxBins {
		return fmt.Errorf("histogram %s: %d bins, more than %d", h.Name, len(h.Bins), MaxBins)
	}
	var n, before int64
	for _, b := range h.Bins {
		if b.Low < before || b.High <= b.Low || b.Count <= 0 || n > math.MaxInt64-b.Count {
			return fmt.Errorf("histogram %s: bin from %d to %d ns with %d requests, after one that ends at %d, cannot be",
				h.Name, b.Low, b.High, b.Count, before)
		}
		n, before = n+b.Count, b.High
	}
	first, last := h.Bins[0], h.Bins[len(h.Bins)-1]
	if h.Min[0] > h.Min[1] || h.Min[1] < first.Low || h.Min[0] > first.High {
		return fmt.Errorf("histogram %s: the shortest request took %d to %d ns, the first bin is from %d to %d", h.Name, h.Min[0], h.Min[1], first.Low, first.High)
	}
	if h.Max[0] > h.Max[1] || h.Max[1] < last.Low || h.Max[0] > last.High {
		return fmt.Errorf("histogram %s: the longest request took %d to %d ns, the last bin is from %d to %d", h.Name, h.Max[0], h.Max[1], last.Low, last.High)
	}
	return nil
}

// Count returns the number of requests.
func (h Histogram) Count() int64 {
	var n int64
	for _, b := range h.Bins {
		n += b.Count
	}
	return n
}

// MergeHistograms returns the histogram of all requests together. It adds the counts bin by bin, so
// the order does not matter and nothing is lost. It returns an error for histograms whose bins
// differ.
func MergeHistograms(hs ...Histogram) (Histogram, error) {
	if len(hs) == 0 {
		return Histogram{}, errors.New("merge histograms: there is none")
	}
	out := Histogram{Name: hs[0].Name, Grid: hs[0].Grid, Min: hs[0].Min, Max: hs[0].Max}
	var all []Bin
	for _, h := range hs {
		if err := h.Check(); err != nil {
			return Histogram{}, fmt.Errorf("merge histograms: %w", err)
		}
		if h.Name != out.Name || h.Grid != out.Grid {
			return Histogram{}, fmt.Errorf("merge histograms: %s in bins of %s with %s in bins of %s", out.Name, out.Grid, h.Name, h.Grid)
		}
		for i := range 2 {
			out.Min[i], out.Max[i] = min(out.Min[i], h.Min[i]), max(out.Max[i], h.Max[i])
		}
		all = append(all, h.Bins...)
	}
	slices.SortFunc(all, func(a, b Bin) int { return cmp.Or(cmp.Compare(a.Low, b.Low), cmp.Compare(a.High, b.High)) })
	for _, b := range all {
		k := len(out.Bins) - 1
		if k >= 0 && out.Bins[k].Low == b.Low && out.Bins[k].High == b.High && b.Count <= math.MaxInt64-out.Bins[k].Count {
			out.Bins[k].Count += b.Count
			continue
		}
		out.Bins = append(out.Bins, b)
	}
	if err := out.Check(); err != nil {
		return Histogram{}, fmt.Errorf("merge histograms: %w", err)
	}
	return out, nil
}

// A Quantile is a percentile with the bounds that a histogram gives.
type Quantile struct {
	// Low and High bound it, in nanoseconds. They are the edges of its bin, or the shortest and the
	// longest request if those are closer.
	Low, High int64
	// Beyond is the number of requests with a higher rank.
	Beyond int64
}

// Mid returns the middle of its bounds, in nanoseconds.
func (q Quantile) Mid() float64 { return float64(q.Low)/2 + float64(q.High)/2 }

// Quantile returns the time within which a share q of the requests was done. q is above 0 and at
// most 1. Of n requests in ascending order it is the one of rank q*n, rounded up. h must have
// passed Check.
func (h Histogram) Quantile(q float64) Quantile {
	n := h.Count()
	// Treat a product just above a whole number as that number: it is a rounding error.
	rank := min(n, max(1, int64(math.Ceil(q*float64(n)*(1-1e-12)))))
	var below int64
	for _, b := range h.Bins {
		if below += b.Count; below >= rank {
			low, high := max(b.Low, h.Min[0]), min(b.High, h.Max[1])
			if rank == n {
				low, high = max(low, h.Max[0]), min(high, h.Max[1])
			}
			return Quantile{Low: low, High: max(low, high), Beyond: n - rank}
		}
	}
	return Quantile{}
}

// HistogramOf merges the subjects' histograms of the name into one of all requests of the scene. ok
// is false if no subject has one. It returns an error if only some have one.
func (o *Outcome) HistogramOf(name string) (h Histogram, ok bool, err error) {
	var found []Histogram
	subjects := 0
	for _, a := range o.Actors {
		if a.Role != Subject {
			continue
		}
		subjects++
		for _, h := range a.Histograms {
			if h.Name == name {
				found = append(found, h)
			}
		}
	}
	switch len(found) {
	case 0:
		return Histogram{}, false, nil
	case subjects:
		h, err = MergeHistograms(found...)
		return h, err == nil, err
	}
	return Histogram{}, false, fmt.Errorf("histogram %s: %d of %d subjects have one", name, len(found), subjects)
}
