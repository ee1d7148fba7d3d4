package plan

import (
	"tare/internal/bench"
	"tare/internal/spec"
)

// checkAgentless refuses what a scene cannot do on a platform whose machines have no agent: they run
// nothing but their own server, and answer nothing but its port. On others a server must be named.
func (m *maker) checkAgentless(s spec.Scene, on bench.PlatformRef) (errs spec.Errors) {
	for _, a := range s.Actors {
		ref := on
		if a.Platform != nil {
			ref = *a.Platform
		}
		if !ref.Agentless() {
			errs = append(errs, m.checkRuns(s, a, ref)...)
			continue
		}
		const alone = bench.Hint("a machine without an agent serves a load, starts or rests; give other scenes platforms of their own")
		switch {
		case s.Migrate != "":
			errs = append(errs, s.Places.At("migrate").Errorf("%s has no agent, so nothing tells how its move went%w", ref, alone))
		case s.Turns > 0:
			errs = append(errs, s.Places.At("turns").Errorf("%s has no agent, and cannot take turns%w", ref, alone))
		case s.Ramp != nil:
			errs = append(errs, s.Places.At("ramp").Errorf("%s has no agent to run the first command of a ramp%w", ref, alone))
		case a.Workload != "" && a.Role != bench.Subject:
			errs = append(errs, a.Places.At("workload").Errorf("%s runs %s on %s, which has no agent to start it%w", a.Name, a.Workload, ref, alone))
		case a.Workload != "":
			errs = append(errs, m.checkServer(s, a, ref)...)
		}
		if k := m.Kernel; k != nil {
			size := k.Kernel.Size
			if k.Initrd != nil {
				size += k.Initrd.Size
			}
			if size > a.Shape.Memory {
				errs = append(errs, a.Places.At("shape.memory").Errorf("%s of memory do not hold the %s of %s%w", a.Shape.Memory, size, k.Kernel.Path, bench.Hint("raise shape.memory")))
			}
		}
		if len(errs) > 0 {
			return errs
		}
	}
	return errs
}

// checkRuns refuses a service that names no server for a platform whose instances run one.
func (m *maker) checkRuns(s spec.Scene, a spec.Actor, ref bench.PlatformRef) spec.Errors {
	w := m.Words.Workload(a.Workload)
	if w == nil {
		return nil
	}
	if part, err := w.Steps(a.Part, a.Params, m.setting(s, a)); err != nil || !part.Service || len(part.Main.Argv) > 0 {
		return nil // an error of the parameters was told before
	}
	return spec.Errors{a.Places.At("params.server").Errorf("%s names no server for %s to run%w", a.Workload, ref, bench.Hint("server: [./serve, ...]; only a platform with guest=own needs none"))}
}

// checkServer refuses a workload that the kernel's server cannot stand in for.
func (m *maker) checkServer(s spec.Scene, a spec.Actor, ref bench.PlatformRef) spec.Errors {
	w := m.Words.Workload(a.Workload)
	part, err := w.Steps(a.Part, a.Params, m.setting(s, a))
	if err != nil {
		return spec.Errors{a.Places.Blame(err, "workload")}
	}
	at := a.Places.At("workload")
	switch _, own := w.(bench.Carrier); {
	case !part.Service:
		return spec.Errors{at.Errorf("%s has no server that the kernel of %s could be%w", a.Workload, ref, bench.Hint("workload: service runs your own client against it"))}
	case len(part.Prepare) > 0, len(part.Files) > 0 && !own:
		return spec.Errors{at.Errorf("%s makes its server ready inside, which needs an agent, and %s has none%w", a.Workload, ref, bench.Hint("workload: service runs your own client against it"))}
	case part.Listen == 0:
		return spec.Errors{a.Places.At("params.probe").Errorf("nothing tells when the server of %s is ready%w", ref, bench.Hint("probe: tcp"))}
	case m.Kernel != nil && part.Listen != m.Kernel.Port:
		return spec.Errors{a.Places.At("params.port").Errorf("the client of %s asks port %d, and the kernel's server listens on %d%w", a.Workload, part.Listen, m.Kernel.Port, bench.Hint("give image.port and the workload the same port"))}
	}
	return nil
}
