package cgroup_test

import (
	"fmt"
	"log"

	"tare/internal/host/cgroup"
)

// The kernel writes CPUs in ranges; cpuset files and programs' options take them one by one.
func ExampleParseCPUList() {
	cpus, err := cgroup.ParseCPUList("0-2,5")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(cpus), cgroup.CPUList(cpus))
	_, err = cgroup.ParseCPUList("2-0")
	fmt.Println(err)
	// Output:
	// 4 0,1,2,5
	// cpu list "2-0": bad range "2-0"
}
