package spec_test

import (
	"errors"
	"fmt"
	"log"

	"tare/internal/spec"
	"tare/internal/spec/spectest"
)

// Factors are crossed, and --set replaces a value.
func ExampleParse() {
	text := []byte(`name: mine
platforms: native, docker
scenes:
  - name: load
    workload: spin
    vary: {threads: [1, 2]}
`)
	e, err := spec.Parse("mine.yaml", text, []string{"blocks=5"}, spectest.Vocabulary())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(e.Blocks, "blocks")
	for _, scene := range e.Scenes {
		fmt.Println(scene.Name, scene.Factors[0].Words())
	}
	// Output:
	// 5 blocks
	// load 1 thread
	// load 2 threads
}

// Every fault is told at once, each with its place and a hint.
func ExampleErrors() {
	text := []byte(`name: mine
platforms: native, dokcer
scenes:
  - {name: load, workload: spn}
`)
	_, err := spec.Parse("mine.yaml", text, nil, spectest.Vocabulary())
	var faults spec.Errors
	if !errors.As(err, &faults) {
		log.Fatal(err)
	}
	fmt.Println(faults.Text())
	// Output:
	// mine.yaml:2:20: unknown platform "dokcer"; did you mean "docker"?
	//   2 | platforms: native, dokcer
	//     |                    ^^^^^^
	//   hint: one of: native, docker, lxc, kvm, qemu-tcg, all-real
	// mine.yaml:4:28: unknown workload "spn"; did you mean "spin"?
	//   4 |   - {name: load, workload: spn}
	//     |                            ^^^
	//   hint: one of: spin, scan, talk, serve, fill, sort, own
}
