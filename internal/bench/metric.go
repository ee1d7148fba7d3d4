package bench

import "fmt"

// Direction says which way a metric is better.
type Direction string

const (
	HigherIsBetter Direction = "higher"
	LowerIsBetter  Direction = "lower"
)

// Combine says how the values of several subjects of one scene become one.
type Combine string

const (
	Sum  Combine = "sum"  // throughputs of instances that share the load
	Mean Combine = "mean" // mean latencies
	// Merge is for percentiles of latency: that of all instances' requests
	// together, from their histograms added up. No mean of percentiles gives it.
	Merge Combine = "merge"
	// Max is for percentiles of latency whose program gives no histogram: that
	// of all requests together is at most the worst instance's.
	Max Combine = "max"
)

// Metric is a quantity a workload reports.
type Metric struct {
	Name    string    `json:"name"` // such as "throughput"
	Unit    string    `json:"unit"` // such as "events/s", "ms", "MB/s"
	Better  Direction `json:"better"`
	Combine Combine   `json:"combine"`
	Doc     string    `json:"doc,omitempty"`
	// Headline marks the metric that speaks for the workload in a one-sentence answer.
	Headline bool `json:"headline,omitempty"`
	// Of, if not empty, is the kind of the scenes that have it, where a case has several.
	Of SceneKind `json:"of,omitempty"`
	// Histogram and Quantile, of a metric combined by Merge, name the histogram
	// it is a percentile of, and which: 0.99 of "latency".
	Histogram string  `json:"histogram,omitempty"`
	Quantile  float64 `json:"quantile,omitempty"`
}

// FromNanoseconds writes a duration in the metric's unit.
func (m Metric) FromNanoseconds(ns float64) (float64, error) {
	switch m.Unit {
	case "ns":
		return ns, nil
	case "us":
		return ns / 1e3, nil
	case "ms":
		return ns / 1e6, nil
	case "s":
		return ns / 1e9, nil
	}
	return 0, fmt.Errorf("metric %s: %q is no unit of time", m.Name, m.Unit)
}

// Value is one measured quantity.
type Value struct {
	Metric string  `json:"metric"`
	Value  float64 `json:"value"`
}

// The metrics of a start-up scene, which has no workload: the launch is the measurement.
var StartupMetrics = []Metric{
	{Name: "ready", Unit: "ms", Better: LowerIsBetter, Combine: Mean,
		Doc: "from issuing the platform's own start command to the first byte from inside the instance"},
	{Name: "first_command", Unit: "ms", Better: LowerIsBetter, Combine: Mean, Headline: true,
		Doc: "from issuing the platform's own start command to the exit of the first command (/bin/true) run inside"},
}
