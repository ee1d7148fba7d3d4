package result

import "tare/internal/bench"

// Case is a set of scenes that differ in the platform only.
type Case struct {
	Name     string            `json:"name"`
	Title    string            `json:"title"`
	Short    string            `json:"short,omitempty"` // what a sentence calls its work: "random reads"
	Kind     bench.SceneKind   `json:"kind"`
	Workload string            `json:"workload,omitempty"`
	Resource string            `json:"resource"` // cpu, memory, disk, network, startup, migration, other
	Factors  map[string]string `json:"factors,omitempty"`
	// Conditions of the host that were set for its trials.
	Conditions map[string]string `json:"conditions,omitempty"`
	// SwapSpaces are those the host had in its trials, with their sizes, where swap
	// is a condition: the host's own are used where they are large enough.
	SwapSpaces string `json:"swap_spaces,omitempty"`
	// Answer is the case in one sentence, built from the effects.
	Answer string `json:"answer"`
	Rows   []Row  `json:"rows"`
	// MemoryPool is the memory its instances share, 0 for the host's; Pools are how
	// they fared in it, a row per platform.
	MemoryPool bench.Bytes `json:"memory_pool,omitempty"`
	Pools      []PoolRow   `json:"pools,omitempty"`
	// Usage is where the resources went, a row per platform.
	Usage []Usage `json:"usage,omitempty"`
	// Density has a row per platform with a finished ramp, in a case of that kind.
	Density []DensityRow `json:"density,omitempty"`
	// StartUp is how the launches of a start-up case went, a row per platform.
	StartUp []StartUp `json:"start_up,omitempty"`
	// Latency has a row per histogram and platform, where the program tells
	// how long every request took.
	Latency []Latency `json:"latency,omitempty"`
	// Energy has a row per power meter and platform.
	Energy []Energy `json:"energy,omitempty"`
	// Scheduling has a row per platform and domain, where the host's scheduler was read.
	Scheduling []Scheduling `json:"scheduling,omitempty"`
}

// Row is one metric of one platform in one case.
type Row struct {
	Metric   bench.Metric `json:"metric"`
	Platform string       `json:"platform"`
	Label    string       `json:"label,omitempty"`
	Baseline bool         `json:"baseline,omitempty"`
	// Points are the values of every finished launch, in block order.
	Points []Point `json:"points"`
	Median float64 `json:"median"`
	N      int     `json:"n"`
	// Failed counts launches of this scene that failed, Missing those without an outcome.
	Failed  int `json:"failed,omitempty"`
	Missing int `json:"missing,omitempty"`
	// DNF counts launches that did not finish beside their neighbour or in their
	// pool of memory, and Overdue those that were ended when the time of their containments was over.
	DNF     int `json:"dnf,omitempty"`
	Overdue int `json:"overdue,omitempty"`
	// Alone counts launches that finished without their neighbour, which had ended before half of the
	// window was over. They are not among Points.
	Alone int `json:"without_neighbour,omitempty"`
	// Fairness is that between alike subjects; nil with one.
	Fairness *Fairness `json:"fairness,omitempty"`
	// Steadiness is how the metric went within the windows, where it is one that a program tells
	// of; in a headline's row also where the program tells nothing.
	Steadiness *Steadiness `json:"steadiness,omitempty"`
	// LoadBusy is the share of its CPUs' time that the load side used, the busiest one's of the median
	// launch; 0 where no peer loads the subject.
	LoadBusy float64 `json:"load_busy,omitempty"`
	// Effect compares with the baseline; nil for the baseline itself.
	Effect *Effect `json:"effect,omitempty"`
	// Reproduce is a command that measures this row again.
	Reproduce string   `json:"reproduce"`
	Warnings  []string `json:"warnings,omitempty"`
}

// Point is one launch.
type Point struct {
	Block int     `json:"block"`
	Trial string  `json:"trial"`
	Value float64 `json:"value"`
}

// Values are those of the points, in their order.
func Values(points []Point) []float64 {
	out := make([]float64, len(points))
	for i, p := range points {
		out[i] = p.Value
	}
	return out
}

// Fairness says how alike the alike subjects of a scene fared in a metric: means over its launches.
type Fairness struct {
	// Jain is Jain's index: 1 if all had the same, one by their number if one had all.
	Jain Share `json:"jain"`
	// Apart is by how much the least differs from the most, as a share of the most:
	// 0 if all had the same, 1 if one had nothing. It is the measure of tso2014 section V.
	Apart Share `json:"apart"`
	// N are the launches.
	N int `json:"n"`
	// Why there is no interval.
	Why string `json:"why,omitempty"`
}

// Share is a mean with its 95 % interval, within what the quantity can be;
// both bounds are 0 if there is none.
type Share struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}
