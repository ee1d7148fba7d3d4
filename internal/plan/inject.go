package plan

import (
	"tare/internal/bench"
	"tare/internal/spec"
)

// inject puts the slowdowns of a scene's platform on its subjects. That of the
// CPU is a quota lower than what the subject had: its own quota, or its CPUs.
// That of the disk lowers a limit the subject has; without one it does nothing.
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
			a.Shape.DiskIOPS = int(float64(a.Shape.DiskIOPS)*(1-i.Disk) + 0.5)
		}
	}
}
