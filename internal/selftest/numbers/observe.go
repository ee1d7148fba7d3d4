package main

import (
	"context"
	"fmt"
	"math"
	"runtime"

	"tare/internal/selftest"
)

// observe reads from a run whose subjects keep all CPUs busy, the observer's
// too, what its samples cost and how late they were.
func observe(ctx context.Context, n *numbers) ([]selftest.Measured, error) {
	cpus := runtime.NumCPU()
	seconds := n.repeat(30)
	r, err := n.tare.run(ctx, n.dir, fmt.Sprintf(`
name: observe
platforms: [native, lxc, docker]
blocks: 1
shape: {cpus: %d, memory: 512MiB, disk: 256MiB}
timing: {warmup: 1s, measure: %ds, cooldown: 100ms}
scenes:
  - {name: cpu, workload: sysbench-cpu, params: {threads: %d}}
`, cpus, seconds, cpus))
	if err != nil {
		return nil, err
	}
	busy := math.Inf(1)
	for _, c := range r.Cases {
		for _, u := range c.Usage {
			busy = min(busy, u.GuestCPU.Value+u.LayerCPU.Value+u.OtherCPU.Value+u.StealCPU.Value)
		}
	}
	var found []selftest.Measured
	for _, l := range r.Observer.Levels {
		how := fmt.Sprintf("1 Hz, %d s each of native, lxc, docker; %.2f of %d CPUs busy; %d samples", seconds, busy, cpus, l.Samples)
		found = append(found,
			selftest.Promises[selftest.Sampling].AtMost(100*l.CPU, how, "level", string(l.Level)),
			selftest.Promises[selftest.Lateness].AtMost(l.LateP99, how+fmt.Sprintf(", median %.2g ms", l.LateP50), "level", string(l.Level)))
	}
	return found, nil
}
