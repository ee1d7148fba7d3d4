package main

import (
	"context"
	"errors"
	"fmt"

	"tare/internal/bench"
	"tare/internal/result"
)

// crowdShare is what sampling a whole crowd at 1 Hz may take, in % of one core.
const crowdShare = 0.5

// crowds are how many instances of a platform must run at once.
var crowds = []struct {
	platform  string
	instances int
}{{"runc", 100}, {"lxc", 100}, {"docker", 100}, {"uml", 20}}

// crowd ramps idle instances up and reads how many were up at once and what
// sampling them cost. That nothing is left is checked by Tare as it closes.
func crowd(ctx context.Context, n *numbers) ([]figure, error) {
	var figures []figure
	var errs []error
	for _, c := range crowds {
		to := n.repeat(c.instances)
		found, err := n.ramp(ctx, c.platform, to)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.platform, err))
			continue
		}
		figures = append(figures, found...)
	}
	return figures, errors.Join(errs...)
}

func (n *numbers) ramp(ctx context.Context, platform string, to int) ([]figure, error) {
	r, err := n.tare.run(ctx, n.dir, fmt.Sprintf(`
name: crowd
platforms: %s
blocks: 1
shape: {cpus: 1, memory: 256MiB, disk: 64MiB}
timing: {warmup: 1s, measure: 5s, cooldown: 100ms}
scenes:
  - {name: crowd, ramp: {to: %d, step: %d}}
`, platform, to, max(1, to/10)))
	if err != nil {
		return nil, err
	}
	row, err := crowdRow(r)
	if err != nil {
		return nil, err
	}
	c := row.Ramps[0].Crowd
	how := "1 Hz;"
	for _, s := range c.Steps {
		if s.Observer != nil {
			how += fmt.Sprintf(" %d: %.3f %%", s.Instances, 100**s.Observer)
		}
	}
	return []figure{
		{Name: platform + ": at once", Target: fmt.Sprintf(">= %d instances", to), Value: float64(c.Instances), Unit: "instances",
			Pass: c.Instances >= to && c.Limit == bench.LimitCount, How: c.Why},
		atMost(platform+": CPU to observe them", 100*row.Observer.At(c.Instances), crowdShare, "% of a core",
			how+fmt.Sprintf("; %.5f %% each", 100*row.Observer.PerInstance)),
	}, nil
}

func crowdRow(r *result.Result) (*result.CrowdRow, error) {
	for _, c := range r.Cases {
		for i := range c.Crowd {
			if row := &c.Crowd[i]; row.Observer != nil {
				return row, nil
			}
		}
	}
	return nil, errors.New("the run has no ramp with the cost of observing it")
}
