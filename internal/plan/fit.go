package plan

import (
	"fmt"
	"slices"

	"tare/internal/bench"
	"tare/internal/spec"
)

// fit is the scene with as many CPUs for each instance as the host has for all of them, peers among
// them, and at most what their shapes say. Where one for each is too much, those that are measured
// and their neighbours share the first one's, so that the peers are not on it. Idle instances count
// for nothing.
func (m *maker) fit(s spec.Scene) spec.Scene {
	if !s.Fit {
		return s
	}
	have := len(pool(m.Host.CPUs, s.Pool))
	need := func(most int) (sum int) {
		for _, a := range s.Actors {
			if a.Role != bench.Idle {
				sum += instances(s, a) * min(a.Shape.CPUs, most)
			}
		}
		return sum
	}
	most, asked := 1, 1
	for _, a := range s.Actors {
		asked = max(asked, a.Shape.CPUs)
	}
	for most = asked; most > 1 && need(most) > have; {
		most--
	}
	share := need(most) > have
	if most == asked && !share {
		return s
	}
	actors := slices.Clone(s.Actors)
	shared := false
	for i := range actors {
		a := &actors[i]
		a.Shape.CPUs = min(a.Shape.CPUs, most)
		a.Shape.CPUQuota = min(a.Shape.CPUQuota, float64(a.Shape.CPUs))
		beside := a.Role == bench.Neighbour || a.Role == bench.Subject && a.Count > 1
		if share && beside && a.Placement == spec.Apart {
			a.Placement, shared = spec.Shared, true
		}
	}
	text := fmt.Sprintf("the host has %d CPUs for all", have)
	if most < asked {
		text += fmt.Sprintf(": each instance has %d of the %d it is to have", most, asked)
	}
	if shared {
		text += "; instances that are to be apart share the subject's"
	}
	if most < asked || shared {
		m.findings.add(s.Case(), []string{text})
	}
	s.Actors = actors
	return s
}
