package result

import "tare/internal/bench"

// Series are the samples of one trial as rates, aligned on the host's clock.
type Series struct {
	Trial    string `json:"trial"`
	Case     string `json:"case"`
	Platform string `json:"platform"`
	Label    string `json:"label,omitempty"`
	// Window is the measured stretch in seconds from the first sample.
	Window [2]float64 `json:"window"`
	Lines  []Line     `json:"lines"`
}

// Line is one quantity over time.
type Line struct {
	Level    bench.Level `json:"level"`
	Quantity string      `json:"quantity"` // "cpu", "memory", "disk", "network"
	Name     string      `json:"name"`     // for the legend
	Unit     string      `json:"unit"`     // "cores", "bytes", "bytes/s"
	// T is in seconds from the first sample. Y at T is the level then or, of a
	// rate, the mean since the reading before.
	T []float64 `json:"t"`
	Y []float64 `json:"y"`
}
