package plan

import (
	"tare/internal/bench"
	"tare/internal/spec"
)

// inject puts the slowdowns of a scene's platform on its subjects. That of the
// CPU is a quota lower than what the subject had: its own quota, or its CPUs.
func inject(s *bench.Scene, all []spec.Inject) {
	for _, i := range all {
		if i.Platform.String() != s.Platform.String() {
			continue
		}
		for k := range s.Actors {
			a := &s.Actors[k]
			if a.Role != bench.Subject {
				continue
			}
			injection := i.Injection
			a.Injection = &injection
			if i.CPU > 0 {
				had := a.Shape.CPUQuota
				if had == 0 {
					had = float64(a.Shape.CPUs)
				}
				a.Shape.CPUQuota = had * (1 - i.CPU)
			}
		}
	}
}
