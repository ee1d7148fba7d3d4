package result

import (
	"slices"
	"strings"

	"tare/internal/analysis/stats"
	"tare/internal/bench"
)

// Latency is how long the requests of one platform took, all launches of a
// case together. The percentiles are of the merged histogram; whether they
// differ between platforms is decided by launches, as everything is.
type Latency struct {
	Histogram string `json:"histogram"` // "latency", or "read_latency" and "write_latency"
	Platform  string `json:"platform"`
	Label     string `json:"label,omitempty"`
	Baseline  bool   `json:"baseline,omitempty"`
	Launches  int    `json:"launches"` // merged
	Requests  int64  `json:"requests"`
	// Grid says whose bins these are and how wide.
	Grid        string       `json:"grid,omitempty"`
	Percentiles []Percentile `json:"percentiles,omitempty"`
	// Max bounds the longest request, nanoseconds.
	Max   *Bounds      `json:"max,omitempty"`
	Curve []CurvePoint `json:"curve,omitempty"`
	// Why explains what is missing.
	Why string `json:"why,omitempty"`
}

// Bounds hold a value that is known as finely as its bin, nanoseconds.
type Bounds struct {
	Low  int64 `json:"low_ns"`
	High int64 `json:"high_ns"`
}

// Percentile is the time within which a share of the requests was done.
type Percentile struct {
	Name  string  `json:"name"` // "p99.9"
	Share float64 `json:"share"`
	// Bounds are nil if too few requests lie beyond; Why says so.
	Bounds *Bounds `json:"bounds,omitempty"`
	Beyond int64   `json:"beyond"`
	Why    string  `json:"why,omitempty"`
	// Points are the launches' own percentiles, the middles of their bins in
	// nanoseconds; none unless every launch has enough requests beyond.
	Points []Point `json:"points,omitempty"`
	// Effect compares the launches' own percentiles with the baseline's, paired
	// by block; nil for the baseline itself. It is not corrected for the number
	// of percentiles.
	Effect *Effect `json:"effect,omitempty"`
}

// CurvePoint is a percentile for a picture.
type CurvePoint struct {
	Share float64 `json:"share"`
	Low   int64   `json:"low_ns"`
	High  int64   `json:"high_ns"`
}

// Metric is what a percentile of a single launch is called.
func (l *Latency) Metric(p *Percentile) bench.Metric {
	return bench.Metric{Name: strings.Replace(l.Histogram, "latency", p.Name+"_latency", 1), Unit: "ns", Better: bench.LowerIsBetter,
		Combine: bench.Merge, Histogram: l.Histogram, Quantile: p.Share}
}

// TailRows are the percentiles of the case's single launches, as rows for
// exports that have a line for each launch. Those that are rows already are left out.
func (c *Case) TailRows() []Row {
	var rows []Row
	for i := range c.Latency {
		l := &c.Latency[i]
		for j := range l.Percentiles {
			p := &l.Percentiles[j]
			m := l.Metric(p)
			if len(p.Points) == 0 || slices.ContainsFunc(c.Rows, func(r Row) bool { return r.Metric.Name == m.Name }) {
				continue
			}
			rows = append(rows, Row{Metric: m, Platform: l.Platform, Label: l.Label, Baseline: l.Baseline, Points: p.Points,
				Median: stats.Median(Values(p.Points)), N: len(p.Points), Effect: p.Effect})
		}
	}
	return rows
}
