package result

import "tare/internal/bench"

// DensityRow is what the ramps of one platform found: how memory, start-up, CPU
// time and the cost of observing grow with the number of idle instances.
type DensityRow struct {
	Platform string `json:"platform"`
	Label    string `json:"label,omitempty"`
	// Memory has an entry per meter that could be read, in the order of bench.DensityMeters.
	Memory []Slope `json:"memory"`
	// Start is the time to the end of the first command, by the launch's place in the order; "ms".
	Start *Slope `json:"start,omitempty"`
	// CPU is of the idle instances with what serves it; "cores".
	CPU *Slope `json:"cpu,omitempty"`
	// Observer is what sampling it once a second cost Tare; "cores".
	Observer *Slope `json:"observer,omitempty"`
	// Ramps are the finished ones in block order.
	Ramps []DensityRamp `json:"ramps"`
}

// Slope is how a quantity grows with each instance: a line of least squares in
// each block, and the mean of the blocks' slopes with its interval. The steps of one
// ramp are no independent repeats; the blocks are.
type Slope struct {
	Of   string `json:"of"` // a meter of memory, or "start", "cpu", "observer"
	Unit string `json:"unit"`
	// PerInstance is the mean slope; Low and High bound its 95 % interval, both 0 where Why says that there is none.
	PerInstance float64 `json:"per_instance"`
	Low         float64 `json:"low"`
	High        float64 `json:"high"`
	// At0 is the mean intercept: what is there without any instance, such as a daemon.
	At0 float64 `json:"at_0"`
	// Slopes are the blocks'.
	Slopes []Point `json:"slopes"`
	Why    string  `json:"why,omitempty"`
}

// HasInterval says whether Low and High bound the slope.
func (s *Slope) HasInterval() bool { return s.Why == "" }

// At is the mean line's value at so many instances.
func (s *Slope) At(n int) float64 { return s.At0 + s.PerInstance*float64(n) }

// DensityRamp is one ramp: a launch of the scene.
type DensityRamp struct {
	Block   int           `json:"block"`
	Trial   string        `json:"trial"`
	Density bench.Density `json:"density"`
	// Starts are the launches' times to the end of the first command, in their order, milliseconds.
	Starts []float64 `json:"starts_ms"`
}
