package plan

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/bench"
	"tare/internal/spec"
)

// inject puts the slowdowns of a scene's platform on its subjects and their members. That of the
// CPU is a quota lower than what the subject had: its own quota, or its CPUs.
// That of the disk lowers a limit the subject must have.
func inject(s *bench.Scene, e *spec.Experiment) error {
	for _, i := range e.Inject {
		if i.Platform.String() != s.Platform.String() {
			continue
		}
		for k := range s.Actors {
			a := &s.Actors[k]
			if !a.Role.OfSubject() {
				continue
			}
			if i.Startup > 0 && a.Platform.Agentless() {
				return spec.Errors{e.Places.At("inject").Errorf("%s has no agent, and its launch cannot be lengthened", a.Platform)}
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
			if i.Disk > 0 && a.Shape.DiskIOPS == 0 {
				return spec.Errors{e.Places.At("inject").Errorf("%s of scene %s has no disk_iops that could be lowered%w", a.Name, s.Case,
					bench.Hint("give every instance one: shape: {disk_iops: 500}"))}
			}
			a.Shape.DiskIOPS = int(float64(a.Shape.DiskIOPS)*(1-i.Disk) + 0.5)
		}
	}
	return nil
}

// injected says which platforms are slowed down, for people: their figures are
// falsified.
func injected(all []spec.Inject) []string {
	var says []string
	for _, i := range all {
		var what []string
		for _, share := range []struct {
			of   string
			part float64
		}{{"CPU time", i.CPU}, {"disk operations", i.Disk}, {"time to start", i.Startup}} {
			if share.part > 0 {
				what = append(what, fmt.Sprintf("%s by %g %%", share.of, 100*share.part))
			}
		}
		says = append(says, fmt.Sprintf("%s is slowed down on purpose (inject): %s", i.Platform, strings.Join(what, ", ")))
	}
	slices.Sort(says)
	return says
}
