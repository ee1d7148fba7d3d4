package main

import (
	"path/filepath"
	"strings"
)

// spec is an experiment with everything in it that a run may be in the middle of. What a platform cannot do is left out by the plan.
const spec = `
name: endure
platforms: [PLATFORM]
baseline: PLATFORM
blocks: BLOCKS
shape: {cpus: 1, memory: 256MiB, disk: 64MiB}
timing: {warmup: 0s, measure: 300ms, cooldown: 0s}
scenes:
  - {name: swap, workload: sysbench-cpu, conditions: {swap: 16MiB}}
  - {name: net, workload: netperf}
`

// long are the scenes that a quick look does without.
const long = `  - {name: density, ramp: {to: 3, step: 1}, timing: {measure: 200ms}}
  - {name: bombed, workload: sysbench-cpu, beside: {workload: bomb, params: {kind: fork}, containment: {pids: 200, time: 8s}}}
  - {name: cold, startup: true}
`

// moving is a scene for the platforms that can be moved, where the host lets them, and movable with which options they can.
const moving = "  - {name: move, migrate: either}\n"

var movable = map[string]string{"runc": "runc", "qemu-tcg": "qemu-tcg[root=qcow2]"}

// experiments returns the texts to try, in order: the first that can be planned is run.
func (k *killing) experiments() []string {
	blocks, scenes := "2", spec+long
	if k.Few {
		blocks, scenes = "1", spec
	}
	platform, tries := k.task.Platform, []string{scenes}
	if as, can := movable[platform]; can {
		platform, tries = as, []string{scenes + moving, scenes}
	}
	words := strings.NewReplacer("PLATFORM", "'"+platform+"'", "BLOCKS", blocks)
	for i, text := range tries {
		tries[i] = words.Replace(text)
	}
	return tries
}

func (k *killing) spec() string { return filepath.Join(k.dir, "endure.yaml") }
