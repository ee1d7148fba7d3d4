package workload_test

import (
	"fmt"
	"log"
	"strings"
	"time"

	"tare/internal/bench"
	"tare/internal/workload"
)

// A workload turns parameters into a command line. It runs nothing itself.
func Example() {
	w, err := workload.Find("sysbench-cpu")
	if err != nil {
		log.Fatal(err)
	}
	p, err := workload.Fill(w, bench.Params{"threads": "2"})
	if err != nil {
		log.Fatal(err)
	}
	part, err := w.Steps(bench.SubjectPart, p, bench.Setting{
		Timing: bench.Timing{Measure: 5 * time.Second},
		Shape:  bench.Shape{CPUs: 2, Memory: bench.GiB},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.Join(part.Main.Argv, " "))
	// Output:
	// sysbench cpu --threads=2 --cpu-max-prime=10000 --time=5 --events=0 --percentile=95 --histogram=on run
}

func ExampleFind() {
	_, err := workload.Find("sysbench")
	fmt.Println(err)
	fmt.Println("hint:", bench.HintOf(err))
	// Output:
	// unknown workload "sysbench"; did you mean "sysbench-cpu"?: invalid
	// hint: one of: sysbench-cpu, stream, hpcc, working-set, memtester, fio, files, bonnie, copyup, netperf, netserver, nuttcp, redis, ycsb, web, pages, oltp, mysql, pgbench, spark, rewrite, packages, compile, jvm, command, service, stress, bomb, flood, idle
}
