package plan

import (
	"fmt"
	"slices"

	"tare/internal/bench"
	"tare/internal/spec"
)

// reached leaves out of a scene with peers the platforms whose instances no peer reaches. Where nothing but
// the baseline is left of several, there is no scene, unless others are set against it. The plan says so.
func (m *maker) reached(refs []bench.PlatformRef, s spec.Scene, e *spec.Experiment) []bench.PlatformRef {
	if !slices.ContainsFunc(s.Actors, func(a spec.Actor) bool { return a.Role == bench.Peer }) {
		return refs
	}
	able := slices.DeleteFunc(slices.Clone(refs), func(ref bench.PlatformRef) bool {
		err := m.Available[ref.Driver()].Unreached
		if err != nil {
			m.findings.add(s.Case(), []string{fmt.Sprintf("%s is left out: no peer reaches it: %v", ref, err)})
		}
		return err != nil
	})
	alone := len(able) == 1 && len(refs) > 1 && able[0].String() == e.Baseline.String()
	if alone && s.Relative == nil && !slices.ContainsFunc(e.Scenes, func(o spec.Scene) bool { return o.Relative != nil }) {
		m.findings.add(s.Case(), []string{"nothing is left to compare with the baseline, so it is not measured"})
		return nil
	}
	return able
}
