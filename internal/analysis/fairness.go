package analysis

import (
	"errors"
	"slices"

	"tare/internal/analysis/effect"
	"tare/internal/analysis/stats"
	"tare/internal/bench"
	"tare/internal/result"
)

// fairness is that of finished launches by a metric; nil where there is but one subject.
func (l *launches) fairness(metric string) *result.Fairness {
	var index, apart []float64
	least := 1.0 // the index can be
	for _, o := range l.done {
		xs := shares(o, metric)
		if u := l.usage[o.Trial]; u != nil && metric == bench.UsageMetrics[0].Name {
			xs = u.Subjects
		}
		j, err := stats.Jain(xs)
		if err != nil {
			continue
		}
		most := slices.Max(xs)
		index, apart = append(index, j), append(apart, (most-slices.Min(xs))/most)
		least = min(least, 1/float64(len(xs)))
	}
	if len(index) == 0 {
		return nil
	}
	f := &result.Fairness{Jain: result.Share{Mean: stats.Mean(index)}, Apart: result.Share{Mean: stats.Mean(apart)}, N: len(index)}
	err := errors.Join(bound(&f.Jain, index, least), bound(&f.Apart, apart, 0))
	switch {
	case errors.Is(err, stats.ErrFew):
		f.Why = effect.TooFew(f.N, "block")
	case err != nil:
		f.Why = err.Error()
	}
	return f
}

// bound gives the mean of the values its interval, between what it can be at least and 1.
func bound(s *result.Share, values []float64, least float64) error {
	i, err := stats.MeanInterval(values, effect.Confidence)
	if err != nil {
		return err
	}
	s.Low, s.High = max(i.Low, least), min(i.High, 1)
	return nil
}

// shares are what each subject of a launch had of a metric.
func shares(o *bench.Outcome, metric string) []float64 {
	var xs []float64
	for _, a := range o.Actors {
		for _, v := range a.Values {
			if a.Role == bench.Subject && v.Metric == metric {
				xs = append(xs, v.Value)
			}
		}
	}
	return xs
}
