package bench

import (
	"fmt"
	"slices"
	"strings"
)

// Direction says which way a metric is better.
type Direction string

const (
	HigherIsBetter Direction = "higher"
	LowerIsBetter  Direction = "lower"
)

// Combine says how to combine the values of several subjects of one scene.
type Combine string

const (
	Sum  Combine = "sum"  // throughputs of instances that share the load
	Mean Combine = "mean" // mean latencies
	// Merge is for percentiles of latency. It adds the instances' histograms and takes the
	// percentile of all requests together. No mean of percentiles gives that value.
	Merge Combine = "merge"
	// Max is for percentiles of latency without a histogram. The percentile of all requests
	// together is at most that of the worst instance.
	Max Combine = "max"
)

// Metric is a quantity a workload reports.
type Metric struct {
	Name    string    `json:"name"` // such as "throughput"
	Unit    string    `json:"unit"` // such as "events/s", "ms", "MB/s"
	Better  Direction `json:"better"`
	Combine Combine   `json:"combine"`
	Doc     string    `json:"doc,omitempty"`
	// Headline marks the metric that stands for the workload in a one-sentence answer.
	Headline bool `json:"headline,omitempty"`
	// Adds marks a metric of which a platform adds an amount, such as the time of a launch: what it
	// costs is said as a difference in Unit. What other metrics cost is said as a ratio.
	Adds bool `json:"adds,omitempty"`
	// Of, if not empty, limits the metric to scenes of this kind, for a case with several kinds.
	Of SceneKind `json:"of,omitempty"`
	// Histogram and Quantile, for a metric combined by Merge, give the histogram and the
	// percentile: "latency" and 0.99.
	Histogram string  `json:"histogram,omitempty"`
	Quantile  float64 `json:"quantile,omitempty"`
	// Least, of a metric that the load side tells of itself, is from where on that was as it was asked to
	// be. Below, it may be what limits a figure; 0 for any other metric.
	Least float64 `json:"least,omitempty"`
	// Step is what the program rounds its values to, in Unit; 0 if that is fine enough for any.
	Step float64 `json:"step,omitempty"`
}

// FromNanoseconds converts a duration to the metric's unit.
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
	return 0, fmt.Errorf("metric %s: %q is not a unit of time", m.Name, m.Unit)
}

// Value is one measured quantity.
type Value struct {
	Metric string  `json:"metric"`
	Value  float64 `json:"value"`
}

// The metrics of a scene with a neighbour that is read, besides the workload's; see [Actor.Read].
const (
	NeighbourMetric = "neighbour" // what the neighbour did
	TogetherMetric  = "together"  // what the subject and it did
)

// BesideMetrics are those of a scene in which the neighbour is read, too, by the headline of the workload.
// There are none of one that cannot be summed.
func BesideMetrics(of []Metric) (more []Metric) {
	for _, m := range of {
		if !m.Headline || m.Combine != Sum {
			continue
		}
		for name, doc := range map[string]string{NeighbourMetric: "of the neighbour's: ", TogetherMetric: "of both together: "} {
			more = append(more, Metric{Name: name, Unit: m.Unit, Better: m.Better, Combine: Sum, Doc: doc + m.Doc, Step: m.Step})
		}
	}
	slices.SortFunc(more, func(a, b Metric) int { return strings.Compare(a.Name, b.Name) })
	return more
}

// The metrics of a start-up scene, which has no workload: the launch is the measurement.
var StartupMetrics = []Metric{
	{Name: "time_to_ready", Unit: "ms", Better: LowerIsBetter, Combine: Mean, Adds: true,
		Doc: "from issuing the platform's own start command to the first byte from inside the instance"},
	{Name: "time_to_first_command", Unit: "ms", Better: LowerIsBetter, Combine: Mean, Headline: true, Adds: true,
		Doc: "from issuing the platform's own start command to the exit of the first command (/bin/true) run inside"},
}

// AcceptedMetrics are those of a start-up scene in which a machine without an agent takes part.
var AcceptedMetrics = []Metric{{Name: StartupMetrics[0].Name, Unit: StartupMetrics[0].Unit, Better: LowerIsBetter, Combine: Mean, Headline: true, Adds: true,
	Doc: StartupMetrics[0].Doc + "; of a machine without an agent to the first connection that its server accepted"}}

// PowerMetric is what equation 2 of tesfatsion2018 compares.
var PowerMetric = Metric{Name: "power", Unit: "W", Better: LowerIsBetter, Combine: Mean,
	Doc: "mean power the machine draws while the case runs"}

// UsageMetrics are what the subjects of a sampled scene used over the window, with the layer that
// serves them.
var UsageMetrics = []Metric{
	{Name: "cpu_used", Unit: "cores", Better: LowerIsBetter, Adds: true, Doc: "CPU of the subjects and of the layer that serves them"},
	{Name: "cpu_overhead", Unit: "times", Better: LowerIsBetter,
		Doc: "CPU of the subjects and their layer over that of the subjects: 1 and equation 3 of tesfatsion2018"},
	{Name: "memory_used", Unit: "MiB", Better: LowerIsBetter, Adds: true, Doc: "memory of the subjects and of the layer that serves them"},
}
