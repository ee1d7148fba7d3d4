// Package workload holds the programs Tare measures with, a file each. Every
// workload is pure: it writes command lines and reads captured output, and runs
// nothing itself.
//
// To add one, write a type that satisfies [bench.Workload] in a file named
// after the program, capture its real output under testdata, and list it in [All].
package workload

import (
	"fmt"

	"tare/internal/bench"
)

// All returns every workload, in the order in which people are shown them.
func All() []bench.Workload {
	return []bench.Workload{
		sysbenchCPU{},
		stream{},
		hpcc{},
		workingSet{},
		memtester{},
		fio{},
		files{},
		bonnie{},
		copyUp{},
		netperf{},
		netserver{},
		nuttcp{},
		redis{},
		ycsb{},
		web{},
		pages{},
		oltp{},
		mysql{},
		pgbench{},
		spark{},
		rewrite{},
		packages{},
		compile{},
		jvm{},
		command{},
		service{},
		stress{},
		bomb{},
		flood{},
		idle{},
	}
}

// Find returns the workload with the name. The error wraps bench.ErrInvalid and
// names the nearest.
func Find(name string) (bench.Workload, error) {
	var names []string
	for _, w := range All() {
		if w.Name() == name {
			return w, nil
		}
		names = append(names, w.Name())
	}
	return nil, fmt.Errorf("%w: %w", bench.UnknownWord("workload", name, names), bench.ErrInvalid)
}
