package plan

import (
	"fmt"

	"tare/internal/bench"
	"tare/internal/spec"
)

// growth is what the memory of instances that grow is a multiple of.
const growth = 256 * bench.MiB

// grown is the scene with as much memory for each instance as its work needs. What
// it needs depends on the host and not on the platform, so all platforms of the case
// get the same. Where the host has no room it is an error that says how much it takes.
func (m *maker) grown(s spec.Scene) (spec.Scene, spec.Errors) {
	if !s.Grow {
		return s, nil
	}
	actors, said := append([]spec.Actor{}, s.Actors...), []string(nil)
	for i := range actors {
		a := &actors[i]
		w, ok := m.Words.Workload(a.Workload).(bench.Sized)
		if !ok || a.Part != bench.SubjectPart {
			continue
		}
		need, err := w.Memory(a.Params, bench.Setting{Timing: s.Timing, Shape: a.Shape, LLC: m.Host.LLC})
		if err != nil || need <= a.Shape.Memory { // what is wrong with it is found where its commands are asked for
			continue
		}
		had := a.Shape.Memory
		a.Shape.Memory = (need + growth - 1) / growth * growth
		said = append(said, fmt.Sprintf("%s has %s of memory on every platform, not %s: %s needs %s here", a.Name, a.Shape.Memory, had, a.Workload, need))
	}
	if len(said) == 0 {
		return s, nil
	}
	var sum, beyond bench.Bytes
	for _, a := range actors {
		sum += bench.Bytes(instances(s, a)) * a.Shape.Memory
	}
	for _, ref := range s.Platforms.Named {
		beyond = max(beyond, m.Available[ref.Driver()].Beyond.Memory)
	}
	if room := m.room(); room > 0 && sum+beyond > room {
		return s, spec.Errors{s.Places.At("grow").Errorf("it would take %s of memory, and this host has room for %s%w", sum+beyond, room,
			bench.Hint("free memory, or run it on a host with more; an eighth is left to the host"))}
	}
	s.Actors = actors
	m.findings.add(s.Case(), said)
	return s, nil
}

// room is what a scene may take of the memory that nobody uses now; 0 is unknown.
func (m *maker) room() bench.Bytes {
	if m.Host.Free == 0 {
		return m.mostMemory()
	}
	return min(m.mostMemory(), m.Host.Free-m.Host.Free/hostMemory)
}
