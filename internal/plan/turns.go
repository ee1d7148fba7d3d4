package plan

import (
	"errors"
	"fmt"
	"slices"

	"tare/internal/bench"
	"tare/internal/spec"
)

// unfreezable is why a platform's instances cannot take turns, nil if they can.
func (m *maker) unfreezable(ref bench.PlatformRef) error {
	if ref.On != nil {
		return errors.New("what freezes the outer guest from outside stops more than the instance")
	}
	return m.Available[ref.Driver()].Unfreezable(m.Words.Variant(ref))
}

// freezable splits the platforms of a scene in turns into those that can take them and the rest,
// which are launched apart, with the baseline among both. The plan says which, and why.
func (m *maker) freezable(refs []bench.PlatformRef, s spec.Scene, baseline bench.PlatformRef) (able, rest []bench.PlatformRef) {
	isBaseline := func(r bench.PlatformRef) bool { return r.String() == baseline.String() }
	at := slices.IndexFunc(refs, isBaseline)
	if at < 0 {
		return refs, nil // which is an error that is told elsewhere
	}
	if err := m.unfreezable(refs[at]); err != nil {
		m.findings.add(s.Case(), []string{fmt.Sprintf("all platforms are launched apart: the baseline %s cannot take turns: %v", baseline, err)})
		return nil, refs
	}
	for _, ref := range refs {
		if err := m.unfreezable(ref); err != nil {
			m.findings.add(s.Case(), []string{fmt.Sprintf("%s is launched apart, in a case whose name ends in -apart: it cannot take turns: %v", ref, err)})
			rest = append(rest, ref)
			continue
		}
		able = append(able, ref)
	}
	switch {
	case len(rest) == 0:
		return able, nil
	case len(able) == 1: // the baseline, alone
		able = nil
	}
	return able, append([]bench.PlatformRef{refs[at]}, rest...)
}

// apart is a scene in turns without them.
func apart(s spec.Scene) spec.Scene {
	s.Name += "-apart"
	if s.Short != "" {
		s.Short += ", apart"
	}
	s.Turns = 0
	s.Actors = slices.DeleteFunc(slices.Clone(s.Actors), func(a spec.Actor) bool {
		return a.Role == bench.Partner || slices.ContainsFunc(s.Actors, func(b spec.Actor) bool { return b.Role == bench.Partner && a.Serves == b.Name })
	})
	return s
}
