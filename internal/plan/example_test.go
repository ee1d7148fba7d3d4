package plan_test

import (
	"fmt"
	"log"

	"tare/internal/bench"
	"tare/internal/plan"
	"tare/internal/spec"
	"tare/internal/spec/spectest"
)

// Each block has every scene once, in an order that follows from the seed alone.
func ExampleMake() {
	words := spectest.Vocabulary()
	e, err := spec.Parse("mine.yaml", []byte(`name: mine
platforms: native, docker, lxc
blocks: 2
seed: 7
scenes: [{name: load, workload: spin}]
`), nil, words)
	if err != nil {
		log.Fatal(err)
	}
	p, err := plan.Make(e, plan.Inputs{
		Host:      plan.Host{CPUs: []int{0, 1}, Memory: 4 * bench.GiB, DiskFree: 10 * bench.GiB},
		Available: map[string]bench.Availability{"native": {}, "docker": {}, "lxc": {}},
		Words:     words,
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, trial := range p.Trials {
		fmt.Println(trial.Block, trial.Scene)
	}
	fmt.Println("subject on CPU", plan.CPUList(p.Scenes[0].Actors[0].CPUSet))
	// Output:
	// 1 load/lxc
	// 1 load/docker
	// 1 load/native
	// 2 load/native
	// 2 load/docker
	// 2 load/lxc
	// subject on CPU 1
}
