package result

import (
	"fmt"
	"strings"

	"tare/internal/bench"
	"tare/internal/bench/figure"
)

// Controls are what comparing the baseline with itself gave: the run's own false alarms,
// and what it could have found.
type Controls struct {
	Baseline string `json:"baseline"`
	// Hold are the intervals that hold 1, of those there are.
	Hold int `json:"hold"`
	Of   int `json:"of"`
	// Rows are the headline metrics of the cases.
	Rows []ControlRow `json:"rows"`
	// Words say all of it in sentences.
	Words []string `json:"words"`
}

// ControlRow is one metric of a case.
type ControlRow struct {
	Case   string       `json:"case"`
	Metric bench.Metric `json:"metric"`
	// Effect compares the baseline under its second name with the baseline.
	Effect *Effect `json:"effect"`
	// Detectable is the smallest change that each of the case's rows of the metric would have
	// found nine times in ten, as a share; 0 if no row has an interval. It is that of the row
	// of Platform, whose own scatter makes it the largest.
	Detectable float64 `json:"detectable"`
	Platform   string  `json:"platform,omitempty"`
}

// Holds says whether the interval holds 1.
func (r *ControlRow) Holds() bool { return r.Effect.Low <= 1 && 1 <= r.Effect.High }

// Say says the controls in sentences.
func (c *Controls) Say() []string {
	var missed, found, none []string
	for _, r := range c.Rows {
		name := r.Case
		if c.twice(r.Case) {
			name += " (" + r.Metric.Name + ")"
		}
		switch {
		case !r.Effect.HasRatio():
			why := r.Effect.Why
			if why == "" {
				why = r.Effect.Unfair
			}
			none = append(none, name+": "+why)
		case !r.Holds():
			missed = append(missed, fmt.Sprintf("%s: %s (%s)", name, Change(r.Effect.Ratio, r.Metric), bounds(r.Effect, r.Metric)))
		}
		if r.Detectable > 0 {
			of := r.Platform
			if c.twice(r.Case) {
				of = r.Metric.Name + ", " + of
			}
			found = append(found, fmt.Sprintf("%s %% in %s (%s)", digits(100*r.Detectable), r.Case, of))
		}
	}
	var all []string
	if c.Of > 0 {
		text := fmt.Sprintf("%s against itself: %d of %s 1.", c.Baseline, c.Hold, figure.Count(c.Of, "interval")+map[bool]string{true: " holds", false: " hold"}[c.Of == 1])
		if len(missed) > 0 {
			text += " Without it, by chance or by what the audit cannot see: " + strings.Join(missed, "; ") + "."
		}
		all = append(all, text)
	}
	if len(found) > 0 {
		all = append(all, "What every row of a case would have found nine times in ten, by the row that scatters most: "+strings.Join(found, ", ")+".")
	}
	if len(none) > 0 {
		all = append(all, c.Baseline+" against itself, not compared: "+strings.Join(none, "; ")+".")
	}
	return all
}

// twice says whether a case has two rows.
func (c *Controls) twice(name string) bool {
	n := 0
	for _, r := range c.Rows {
		if r.Case == name {
			n++
		}
	}
	return n > 1
}
