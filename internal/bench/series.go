package bench

import (
	"fmt"
	"math"
	"slices"
)

// A Series is how a rate went within a subject's measured window, one value a step. It begins with the window and may end before it: a step that the program did not finish is
// left out. The values are the program's own, or its counts divided by its own clock.
type Series struct {
	// Metric is the name of one of the workload's metrics, which has the unit and the direction. It
	// is one that adds up over subjects ([Sum]).
	Metric string `json:"metric"`
	// Step is the time from one value to the next, in seconds.
	Step float64 `json:"step_s"`
	// Values are means over the step that ends there. A stretch without any request done is 0.
	Values []float64 `json:"values"`
}

// MaxPoints is how many values a series may have.
const MaxPoints = 1 << 16

// Check returns an error unless s fulfils what its fields' comments say.
func (s Series) Check() error {
	if len(s.Values) == 0 {
		return fmt.Errorf("series of %s: it has no values", s.Metric)
	}
	if len(s.Values) > MaxPoints {
		return fmt.Errorf("series of %s: %d values, more than %d", s.Metric, len(s.Values), MaxPoints)
	}
	if !(s.Step > 0) || s.Step > maxStep {
		return fmt.Errorf("series of %s: a step of %v s: above 0, at most %v", s.Metric, s.Step, maxStep)
	}
	for i, v := range s.Values {
		if v < 0 || math.IsNaN(v) {
			return fmt.Errorf("series of %s: value %d is %v", s.Metric, i+1, v)
		}
		if err := CheckQuantity(v); err != nil {
			return fmt.Errorf("series of %s: value %d: %w", s.Metric, i+1, err)
		}
	}
	return nil
}

// maxStep is the longest step of a series, in seconds: an hour.
const maxStep = 3600

// SeriesOf adds the subjects' series of the metric up, step by step, as far as all of them go. ok is
// false unless every subject has one, of the same step.
func (o *Outcome) SeriesOf(metric string) (sum Series, ok bool) {
	for _, a := range o.Actors {
		if a.Role != Subject {
			continue
		}
		i := slices.IndexFunc(a.Series, func(s Series) bool { return s.Metric == metric })
		switch {
		case i < 0:
			return Series{}, false
		case !ok:
			sum, ok = a.Series[i], true
			sum.Values = slices.Clone(sum.Values)
			continue
		case a.Series[i].Step != sum.Step:
			return Series{}, false
		}
		more := a.Series[i].Values
		sum.Values = sum.Values[:min(len(sum.Values), len(more))]
		for k := range sum.Values {
			sum.Values[k] += more[k]
		}
	}
	return sum, ok
}
