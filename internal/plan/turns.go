package plan

import (
	"errors"
	"fmt"

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

// freezable are the platforms that can take turns. The plan says which are left out, and why.
func (m *maker) freezable(refs []bench.PlatformRef, s spec.Scene) []bench.PlatformRef {
	var out []bench.PlatformRef
	for _, ref := range refs {
		if err := m.unfreezable(ref); err != nil {
			m.findings.add(caseOf(s), []string{fmt.Sprintf("left out %s, which cannot take turns: %v", ref, err)})
			continue
		}
		out = append(out, ref)
	}
	return out
}
