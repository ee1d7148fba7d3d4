package plan

import (
	"tare/internal/bench"
	"tare/internal/spec"
)

// checkPublished refuses a server whose ports are not known before its launch, on a platform that
// publishes them.
func (m *maker) checkPublished(s spec.Scene, on bench.PlatformRef) (errs spec.Errors) {
	for _, a := range s.Actors {
		ref := on
		if a.Platform != nil {
			ref = *a.Platform
		}
		w := m.Words.Workload(a.Workload)
		if w == nil || !ref.Publishes() {
			continue
		}
		part, err := w.Steps(a.Part, a.Params, m.setting(s, a))
		switch {
		case err != nil || !part.Service: // an error of the parameters is told elsewhere
		case part.Further:
			errs = append(errs, a.Places.At("workload").Errorf("%s is called on ports of its own choice, too, which %s cannot publish%w", a.Workload, ref, bench.Hint("leave out "+bench.PublishOption+", or take a server of one port")))
		case part.Listen == 0:
			errs = append(errs, a.Places.At("params.probe").Errorf("nothing tells which port of the server %s is to publish%w", ref, bench.Hint("probe: tcp")))
		}
	}
	return errs
}
