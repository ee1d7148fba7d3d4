package main

import (
	"context"
	"fmt"

	"tare/internal/bench"
	"tare/internal/power"
)

// powerMeters are the meters of one run.
type powerMeters []bench.PowerReader

// checkPower is an error for a bad name and one that is there twice; it asks no meter.
func checkPower(names []string) error {
	seen := map[string]bool{}
	for _, name := range names {
		if err := power.Check(name); err != nil {
			return err
		}
		if seen[name] {
			return fmt.Errorf("power meter %s: named twice: %w", name, bench.ErrInvalid)
		}
		seen[name] = true
	}
	return nil
}

// openPower opens the meters by their names; each was read once. A bad name is
// found before any meter is asked.
func openPower(ctx context.Context, names []string) (powerMeters, error) {
	if err := checkPower(names); err != nil {
		return nil, err
	}
	var open powerMeters
	for _, name := range names {
		r, err := power.Open(ctx, name)
		if err != nil {
			open.close()
			return nil, err
		}
		open = append(open, r)
	}
	return open, nil
}

// reopenPower opens the meters of a run that was stopped.
func reopenPower(ctx context.Context, sources []bench.PowerSource) (powerMeters, error) {
	var names []string
	for _, s := range sources {
		names = append(names, s.Name)
	}
	return openPower(ctx, names)
}

func (ms powerMeters) sources() []bench.PowerSource {
	var all []bench.PowerSource
	for _, m := range ms {
		all = append(all, m.Source())
	}
	return all
}

// close closes them; a meter that does not take its leave is no concern of the run's.
func (ms powerMeters) close() {
	for _, m := range ms {
		_ = m.Close()
	}
}

// finishedTrials counts the plan's trials that have an outcome; stretches of
// rest are none of them.
func finishedTrials(p *bench.Plan, finished map[string]bool) int {
	n := 0
	for _, t := range p.Trials {
		if finished[t.ID] {
			n++
		}
	}
	return n
}
