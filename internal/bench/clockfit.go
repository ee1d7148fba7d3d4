package bench

// ClockFit maps a guest's CLOCK_MONOTONIC to the host's. It is a line through round trips made
// before, during and after a measurement. Each is the round trip of its burst with the least delay.
type ClockFit struct {
	// At is the host's CLOCK_MONOTONIC at which Offset holds, in nanoseconds: the middle of the
	// probes.
	At int64 `json:"at"`
	// Offset is guest minus host at At, in nanoseconds.
	Offset int64 `json:"offset"`
	// Drift is the growth of the offset, in nanoseconds per second; DriftUncertainty bounds its error.
	Drift            float64 `json:"drift"`
	DriftUncertainty float64 `json:"drift_uncertainty"`
	// Uncertainty bounds the error of the fit between the first and the last probe, in nanoseconds.
	Uncertainty int64        `json:"uncertainty"`
	Probes      []ClockProbe `json:"probes"`
	// Fault says why the clock cannot be trusted, such as a step; empty if it can.
	Fault string `json:"fault,omitempty"`
}

// ClockProbe is the best round trip of one burst.
type ClockProbe struct {
	Phase       string `json:"phase"` // "prepare", "measure", "collect"
	At          int64  `json:"at"`    // host CLOCK_MONOTONIC, nanoseconds
	Offset      int64  `json:"offset"`
	Uncertainty int64  `json:"uncertainty"` // half the round trip
}

// Host converts an instant of the guest's clock to the host's.
func (f *ClockFit) Host(guest int64) int64 {
	// offset(t) = Offset + Drift*(t-At), guest = t + offset(t).
	since := float64(guest - f.Offset - f.At)
	return f.At + int64(since/(1+f.Drift/1e9))
}

// A Refusal is a sample or duration that cannot be true. The outcome keeps it with the value that
// was read. No figure uses it.
type Refusal struct {
	Actor string `json:"actor,omitempty"`
	Level Level  `json:"level"`
	Meter string `json:"meter"`
	At    int64  `json:"at"` // host CLOCK_MONOTONIC, nanoseconds
	// What was read and why it is impossible, such as "net_rx_bytes: 2.1e11 bytes/s is above the wire's 1.25e9".
	What string `json:"what"`
}
