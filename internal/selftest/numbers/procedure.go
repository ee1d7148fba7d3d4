package main

import (
	"context"
	"fmt"

	"tare/internal/selftest"
)

func procedure(ctx context.Context, n *numbers) ([]selftest.Measured, error) {
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
	var found []selftest.Measured
	of := map[string]selftest.Promise{"lxc": selftest.Promises[selftest.TrialRestLXC], "docker": selftest.Promises[selftest.TrialRestDocker]}
	for _, p := range r.Procedure {
		how := fmt.Sprintf("sysbench, median of %d trials:", p.N)
		for _, phase := range []string{"setup", "launch", "prepare", "collect", "close"} {
			how += fmt.Sprintf(" %s %.0f", phase, 1000*p.Phases[phase])
		}
		found = append(found, of[p.Platform].AtMost(p.Overhead, how+" ms"))
	}
	return found, nil
}
