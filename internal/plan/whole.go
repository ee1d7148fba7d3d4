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
// quota of 0.3 is three tenths of any machine.
func (m *maker) whole(s spec.Scene) spec.Scene {
	n := len(m.Host.CPUs)
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
		text := fmt.Sprintf("%s has %d CPUs, all there are", a.Name, a.Shape.CPUs)
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
