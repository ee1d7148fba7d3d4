package overhead

import (
	"errors"
	"fmt"
	"slices"

	"tare/internal/bench"
	"tare/internal/stats"
)

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

// fairness is that of a scene's launches; nil where there is but one subject.
func (s *study) fairness(sc *bench.Scene, metric string) *Fairness {
	var index, apart []float64
	least := 1.0 // the index can be
	for _, o := range s.done(sc.ID) {
		xs := shares(o, metric)
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
	f := &Fairness{Jain: Share{Mean: stats.Mean(index)}, Apart: Share{Mean: stats.Mean(apart)}, N: len(index)}
	err := errors.Join(f.Jain.bound(index, least), f.Apart.bound(apart, 0))
	switch {
	case errors.Is(err, stats.ErrFew):
		f.Why = fmt.Sprintf("%s; an interval needs at least %d", blocks(f.N), stats.MinPairs)
	case err != nil:
		f.Why = err.Error()
	}
	return f
}

// bound gives the mean of the values its interval, between what it can be at least and 1.
func (s *Share) bound(values []float64, least float64) error {
	i, err := stats.MeanInterval(values, confidence)
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
