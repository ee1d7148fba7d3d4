package workload

import (
	"fmt"
	"math"
	"slices"
	"time"

	"tare/internal/bench"
)

// longSeries is the measuring time above which a series has a step of a second.
const longSeries = 2 * time.Minute

// seriesStep is how often a program that can is to tell how far it is.
func seriesStep(measure time.Duration) time.Duration {
	if measure > longSeries {
		return time.Second
	}
	return 100 * time.Millisecond
}

// spell is a rate that held from one second of the window to another.
type spell struct{ from, to, rate float64 }

// seriesOf are the mean rates of the spells over each whole step of the length. Spells that overlap,
// as of several threads, add up. Where there is none nothing was done.
func seriesOf(metric string, spells []spell, step, length time.Duration) ([]bench.Series, error) {
	n := int(length / step)
	if n <= 0 || n > bench.MaxPoints || len(spells) == 0 {
		return nil, nil
	}
	s := bench.Series{Metric: metric, Step: step.Seconds(), Values: make([]float64, n)}
	for _, x := range spells {
		if !(x.from >= 0) || !(x.to > x.from) || !(x.rate >= 0) || math.IsInf(x.rate, 0) {
			return nil, fmt.Errorf("series of %s: %v from %v to %v s", metric, x.rate, x.from, x.to)
		}
		for i := int(min(x.from/s.Step, float64(n))); i < n && float64(i)*s.Step < x.to; i++ {
			within := min(x.to, float64(i+1)*s.Step) - max(x.from, float64(i)*s.Step)
			s.Values[i] += x.rate * max(0, within) / s.Step
		}
	}
	if slices.Max(s.Values) == 0 {
		return nil, fmt.Errorf("series of %s: nothing was done in %d steps", metric, n)
	}
	if err := s.Check(); err != nil {
		return nil, err
	}
	return []bench.Series{s}, nil
}
