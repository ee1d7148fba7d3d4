package run

import (
	"fmt"
	"slices"

	"tare/internal/bench"
)

// collect reads what the subjects' programs printed into values.
func (x *trial) collect() error {
	var metrics []bench.Metric
	subjects := x.withRole(bench.Subject)
	for _, a := range subjects {
		if a.Workload == "" {
			continue
		}
		w := x.Workloads[a.Workload]
		var err error
		if metrics, err = w.Metrics(a.Params); err != nil {
			return fmt.Errorf("metrics of %s: %w", a.Workload, err)
		}
		if a.outcome.Values, err = w.Parse(a.Params, x.setting(a), *a.outcome.Output); err != nil {
			return fmt.Errorf("result of %s in %s: %w", a.Workload, a.Name, err)
		}
		for _, v := range a.outcome.Values {
			if err := bench.CheckQuantity(v.Value); err != nil {
				a.outcome.Values = nil
				return fmt.Errorf("result of %s in %s: %s: %w", a.Workload, a.Name, v.Metric, err)
			}
		}
		if x.writesRoot(a) {
			x.takeStored(a, bench.StoredMetrics[1].Name)
			metrics = slices.Concat(metrics, bench.StoredMetrics)
			a.outcome.Values = append(a.outcome.Values, a.stored...)
		}
		if h, ok := w.(bench.Histogrammer); ok {
			if a.outcome.Histograms, err = h.Histograms(a.Params, x.setting(a), *a.outcome.Output); err != nil {
				return fmt.Errorf("histograms of %s in %s: %w", a.Workload, a.Name, err)
			}
		}
	}
	var err error
	if x.outcome.Values, err = combine(metrics, subjects); err != nil {
		return fmt.Errorf("results of the subjects together: %w", err)
	}
	for _, v := range x.outcome.Values {
		if err := bench.CheckQuantity(v.Value); err != nil {
			return fmt.Errorf("result: %s: %w", v.Metric, err)
		}
	}
	for _, a := range subjects {
		a.takeHostFacts()
	}
	return nil
}

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

// describeScopes records where each actor's cost was paid.
func (x *trial) describeScopes() error {
	for _, a := range x.actors {
		if a.outcome.Scope != nil {
			continue
		}
		s, err := a.instance.Scope()
		if err != nil {
			return fmt.Errorf("scope of %s: %w", a.Name, err)
		}
		a.outcome.Scope = &s
		if len(s.Shared) > 0 {
			if x.daemons == nil {
				x.daemons = map[string][]bench.Process{}
			}
			x.daemons[a.Platform.Driver()] = s.Shared
		}
	}
	return nil
}

// rememberLogs keeps the platforms' last words for the record of a failure.
func (x *trial) rememberLogs() {
	for _, a := range x.actors {
		if a.instance != nil {
			a.outcome.Log = a.log()
		}
	}
}
