package bench

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
	// Max is for percentiles of latency, which no mean of percentiles gives: that
	// of all instances' requests together is at most the worst instance's.
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
