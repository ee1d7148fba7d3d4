package result

import (
	"fmt"

	"tare/internal/bench/figure"
)

// Finding is how a program went within a measured window.
type Finding string

const (
	// Steady: one level throughout, but for changes within the margin.
	Steady Finding = "steady"
	// Slowing: each stretch is slower than the one before.
	Slowing Finding = "slowing"
	// Speeding: each stretch is faster than the one before, as of what warms up.
	Speeding Finding = "speeding"
	// Unsteady: it went up and down.
	Unsteady Finding = "not steady"
	// FewPoints: the window is too short for its steps to tell.
	FewPoints Finding = "too few points"
	// NoSeries: the program does not tell how it went.
	NoSeries Finding = "no series"
)

// Steadiness says how a metric went within the windows of a platform's launches.
type Steadiness struct {
	// Finding is the platform's. It is Steady unless more launches change than chance lets seem so,
	// and fewer than SteadyShare are steady.
	Finding Finding `json:"finding"`
	// Launches are those whose series has enough points. The next four add up to them.
	Launches int `json:"launches"`
	Steady   int `json:"steady"`
	Slowing  int `json:"slowing"`
	Speeding int `json:"speeding"`
	Unsteady int `json:"not_steady"`
	// Worst is the largest shift of any launch, WorstTrial which.
	Worst      float64 `json:"worst_shift"`
	WorstTrial string  `json:"worst_trial,omitempty"`
	// Each are the launches that have a series.
	Each []Course `json:"each,omitempty"`
}

// SteadyShare is the share of a platform's launches that are steady at the least where it is.
const SteadyShare = 0.8

// Course is how one launch's window went.
type Course struct {
	Trial   string  `json:"trial"`
	Block   int     `json:"block"`
	Finding Finding `json:"finding"`
	Points  int     `json:"points"`
	Step    float64 `json:"step_s"`
	// Shift is by how much the fastest stretch differs from the slowest, as a share of the mean of
	// the window.
	Shift float64 `json:"shift"`
	// Stretches are what lies between changes; one where it is steady.
	Stretches []Stretch `json:"stretches,omitempty"`
}

// Stretch is a part of a window at one level.
type Stretch struct {
	Start float64 `json:"start_s"` // seconds since the window opened
	End   float64 `json:"end_s"`
	Mean  float64 `json:"mean"`
}

// Caveat is what must be known of a platform whose launches are not steady, of the metric; "" where
// they are or nothing is known. It has no numbers, so that platforms alike have one line.
func (s *Steadiness) Caveat(metric string) string {
	what := ""
	switch s.Finding {
	case Speeding:
		what = "the warm-up may be too short"
	case Slowing:
		what = "a longer window would be slower"
	case Unsteady:
		what = "its work goes up and down, or other work on the host lasts longer than a step"
	default:
		return ""
	}
	return fmt.Sprintf("fewer than %.0f %% of launches are steady within the window (%s: %s): %s", 100*SteadyShare, metric, s.Finding, what)
}

// Words say the finding with its numbers: "slowing (1 of 9 launches steady, 8 slowing, by up to 12.3 %)".
func (s *Steadiness) Words() string {
	if s.Launches == 0 {
		return string(s.Finding)
	}
	words := fmt.Sprintf("%s (%d of %s steady", s.Finding, s.Steady, figure.Count(s.Launches, "launch"))
	if s.Steady < s.Launches {
		words += ", " + s.changes()
	}
	return words + ")"
}

// changes are the launches that are not steady: "8 slowing, by up to 12.3 %".
func (s *Steadiness) changes() string {
	words := ""
	for _, f := range []struct {
		n    int
		name Finding
	}{{s.Slowing, Slowing}, {s.Speeding, Speeding}, {s.Unsteady, Unsteady}} {
		if f.n > 0 {
			words += fmt.Sprintf("%d %s, ", f.n, f.name)
		}
	}
	return fmt.Sprintf("%sby up to %.1f %%", words, 100*s.Worst)
}
