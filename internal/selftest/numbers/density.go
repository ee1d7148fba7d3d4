package main

import (
	"context"
	"errors"
	"fmt"

	"tare/internal/bench"
	"tare/internal/result"
	"tare/internal/selftest"
)

// densities are the platforms of which so many instances must run at once.
var densities = []struct {
	platform string
	promise  int
}{{"runc", selftest.Density}, {"lxc", selftest.Density}, {"docker", selftest.Density}, {"uml", selftest.MachineDensity}}

// density ramps idle instances up and reads how many were up at once and what
// sampling them cost. That nothing is left is checked by Tare as it closes.
func density(ctx context.Context, n *numbers) ([]selftest.Measured, error) {
	var all []selftest.Measured
	var errs []error
	for _, c := range densities {
		promise := selftest.Promises[c.promise]
		promise.Limit = float64(n.repeat(int(promise.Limit)))
		found, err := n.ramp(ctx, c.platform, promise)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.platform, err))
			continue
		}
		all = append(all, found...)
	}
	return all, errors.Join(errs...)
}

func (n *numbers) ramp(ctx context.Context, platform string, promise selftest.Promise) ([]selftest.Measured, error) {
	to := int(promise.Limit)
	r, err := n.tare.run(ctx, n.dir, fmt.Sprintf(`
name: density
platforms: %s
blocks: 1
shape: {cpus: 1, memory: 256MiB, disk: 64MiB}
timing: {warmup: 1s, measure: 5s, cooldown: 100ms}
scenes:
  - {name: density, ramp: {to: %d, step: %d}}
`, platform, to, max(1, to/10)))
	if err != nil {
		return nil, err
	}
	row, err := densityRow(r)
	if err != nil {
		return nil, err
	}
	c := row.Ramps[0].Density
	how := "1 Hz;"
	for _, s := range c.Steps {
		if s.Observer != nil {
			how += fmt.Sprintf(" %d: %.3f %%", s.Instances, 100**s.Observer)
		}
	}
	return []selftest.Measured{
		promise.Measure(c.Instances >= to && c.Limit == bench.LimitCount, float64(c.Instances), nil, c.Why, "platform", platform),
		selftest.Promises[selftest.DensitySampling].AtMost(100*row.Observer.At(c.Instances), how+fmt.Sprintf("; %.5f %% each", 100*row.Observer.PerInstance), "platform", platform),
	}, nil
}

func densityRow(r *result.Result) (*result.DensityRow, error) {
	for _, c := range r.Cases {
		for i := range c.Density {
			if row := &c.Density[i]; row.Observer != nil {
				return row, nil
			}
		}
	}
	return nil, errors.New("the run has no ramp with the cost of observing it")
}
