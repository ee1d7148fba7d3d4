package main

import (
	"context"
	"fmt"
)

// overheadLimit is the time of a trial spent neither warming up, measuring nor
// cooling down, in seconds.
var overheadLimit = map[string]float64{"docker": 1.5, "lxc": 1}

func procedure(ctx context.Context, n *numbers) ([]figure, error) {
	r, err := n.tare.run(ctx, n.dir, fmt.Sprintf(`
name: procedure
platforms: [lxc, docker]
baseline: lxc
blocks: %d
shape: {cpus: 1, memory: 512MiB, disk: 256MiB}
timing: {warmup: 1s, measure: 1s, cooldown: 100ms}
scenes:
  - {name: cpu, workload: sysbench-cpu}
`, n.repeat(9)))
	if err != nil {
		return nil, err
	}
	var figures []figure
	for _, p := range r.Procedure {
		how := fmt.Sprintf("sysbench, median of %d trials:", p.N)
		for _, phase := range []string{"setup", "launch", "prepare", "collect", "close"} {
			how += fmt.Sprintf(" %s %.0f", phase, 1000*p.Phases[phase])
		}
		figures = append(figures, atMost(p.Platform+": rest of a trial", p.Overhead, overheadLimit[p.Platform], "s", how+" ms"))
	}
	return figures, nil
}
