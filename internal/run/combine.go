package run

import (
	"fmt"

	"tare/internal/bench"
)

// combine makes one value of each metric of several subjects, by the metric's rule.
func combine(metrics []bench.Metric, subjects []*actor) ([]bench.Value, error) {
	var vs []bench.Value
	for _, m := range metrics {
		n, sum, highest := 0, 0.0, 0.0
		for _, a := range subjects {
			for _, v := range a.outcome.Values {
				if v.Metric != m.Name {
					continue
				}
				if n == 0 || v.Value > highest {
					highest = v.Value
				}
				sum += v.Value
				n++
			}
		}
		if n == 0 {
			continue
		}
		v := bench.Value{Metric: m.Name, Value: sum}
		switch m.Combine {
		case bench.Mean:
			v.Value = sum / float64(n)
		case bench.Max:
			v.Value = highest
		case bench.Merge:
			if n == 1 {
				break
			}
			var err error
			if v.Value, err = merged(m, subjects); err != nil {
				return nil, fmt.Errorf("metric %s: %w", m.Name, err)
			}
		}
		vs = append(vs, v)
	}
	return vs, nil
}

// merged is the percentile of all subjects' requests together.
func merged(m bench.Metric, subjects []*actor) (float64, error) {
	all := bench.Outcome{}
	for _, a := range subjects {
		all.Actors = append(all.Actors, bench.ActorOutcome{Role: bench.Subject, Histograms: a.outcome.Histograms})
	}
	h, ok, err := all.HistogramOf(m.Histogram)
	if err != nil {
		return 0, err
	}
	if !ok {
		return 0, fmt.Errorf("no subject has a histogram %q", m.Histogram)
	}
	return m.FromNanoseconds(h.Quantile(m.Quantile).Mid())
}
