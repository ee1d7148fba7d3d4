package plan

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"tare/internal/bench"
	"tare/internal/spec"
)

// whole is the scene with the whole machine for its subjects, and for a neighbour that shares it: what is
// written for one CPU, they get for each of the host's. It is the number of CPUs, a quota of their time, and
// the parameter that sets the load, but for what works at the disk: more CPUs make no more disks. So a
// quota of 0.3 is three tenths of any machine. Or it is a NUMA node.
func (m *maker) whole(s spec.Scene) spec.Scene {
	n, all := len(m.Host.CPUs), "all there are"
	if cpus := m.node(s); cpus != nil {
		n, all = len(cpus), "all of a NUMA node"
	}
	if !s.Whole || n == 1 {
		return s
	}
	actors := slices.Clone(s.Actors)
	for i := range actors {
		a := &actors[i]
		if a.Role != bench.Subject && (a.Role != bench.Neighbour || a.Placement != spec.Shared) {
			continue
		}
		a.Shape.CPUs *= n
		a.Shape.CPUQuota *= float64(n)
		text := fmt.Sprintf("%s has %d CPUs, %s", a.Name, a.Shape.CPUs, all)
		if a.Shape.CPUQuota > 0 {
			text += fmt.Sprintf(", for %.3g of their time", a.Shape.CPUQuota)
		}
		if w := m.Words.Workload(a.Workload); w != nil && w.Resource() != "disk" {
			for _, p := range w.Params() {
				each, err := strconv.Atoi(a.Params[p.Name])
				if !p.Load || err != nil {
					continue
				}
				a.Params = maps.Clone(a.Params)
				a.Params[p.Name] = strconv.Itoa(each * n)
				text += fmt.Sprintf(", and %s %s", a.Params[p.Name], p.Name)
			}
		}
		m.findings.add(s.Case(), []string{text})
	}
	s.Actors = actors
	return s
}

// node are the CPUs of the NUMA node that the scene is kept to: the last, since the observer is on the first
// CPU of the host. nil is any.
func (m *maker) node(s spec.Scene) []int {
	if !s.Node || len(m.Host.Nodes) < 2 {
		return nil
	}
	return m.Host.Nodes[len(m.Host.Nodes)-1]
}
