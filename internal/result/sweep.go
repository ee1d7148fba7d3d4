package result

import "tare/internal/bench"

// Sweep is one metric of the cases that differ in one number only, such as the load.
type Sweep struct {
	Name   string       `json:"name"`  // of the scene, with the levels of its other factors
	Title  string       `json:"title"` // the same for people
	Factor string       `json:"factor"`
	Axis   string       `json:"axis"` // what X counts, with its unit
	Metric bench.Metric `json:"metric"`
	Lines  []SweepLine  `json:"lines"`
}

// SweepLine is a platform's curve, its points by ascending X.
type SweepLine struct {
	Platform string       `json:"platform"`
	Label    string       `json:"label,omitempty"`
	Baseline bool         `json:"baseline,omitempty"`
	Points   []SweepPoint `json:"points"`
	// DNF are the levels at which no launch finished and some did not, as a finding.
	DNF  []string `json:"dnf,omitempty"`
	Knee *Knee    `json:"knee,omitempty"`
	// NoKnee says why there is none.
	NoKnee string `json:"no_knee,omitempty"`
	// Threshold is where a curve without a knee becomes worse, if it does.
	Threshold *Threshold `json:"threshold,omitempty"`
	// Peak is the highest rate that is held, of a curve over rates that asks for it.
	Peak *Peak `json:"peak,omitempty"`
	// NoPeak says why there is none.
	NoPeak string `json:"no_peak,omitempty"`
}

// Peak is the highest rate that is held, with its interval over blocks, in units of X.
type Peak struct {
	At   float64 `json:"at"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	N    int     `json:"n"` // blocks
	// Ratio is to the baseline's peak, by block; nil where that has none.
	Ratio *Knee `json:"ratio,omitempty"`
}

// SweepPoint is a scene's launches: median, least and most.
type SweepPoint struct {
	X      float64 `json:"x"`
	Level  string  `json:"level"` // as people read it
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	N      int     `json:"n"`
}

// Knee is where the curve bends, with its interval, in units of X.
type Knee struct {
	At   float64 `json:"at"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Threshold is where a curve is first worse by a share than at its first level, with its
// interval, in units of X.
type Threshold struct {
	Worse float64 `json:"worse"` // such as 0.1
	At    float64 `json:"at"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}
