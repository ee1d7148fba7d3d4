package main

import (
	"context"
	"fmt"
	"math"
	"runtime"
)

// Limits of observing at 1 Hz.
const (
	observerShare = 0.2 // % of one core, per level
	observerLate  = 10  // ms, 99th percentile
)

// observe reads from a run whose subjects keep all CPUs busy, the observer's
// too, what its samples cost and how late they were.
func observe(ctx context.Context, n *numbers) ([]figure, error) {
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
			busy = min(busy, u.GuestCPU.Value+u.LayerCPU.Value+u.RestCPU.Value+u.StealCPU.Value)
		}
	}
	var figures []figure
	for _, l := range r.Observer.Levels {
		how := fmt.Sprintf("1 Hz, %d s each of native, lxc, docker; %.2f of %d CPUs busy; %d samples", seconds, busy, cpus, l.Samples)
		figures = append(figures,
			atMost(string(l.Level)+": CPU to observe", 100*l.CPU, observerShare, "% of a core", how),
			atMost(string(l.Level)+": lateness p99", l.LateP99, observerLate, "ms", how+fmt.Sprintf(", median %.2g ms", l.LateP50)))
	}
	return figures, nil
}
