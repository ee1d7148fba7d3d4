package usage

import (
	"slices"

	"tare/internal/bench"
)

// insideXen is what the vCPU threads of an outer guest ran for that runs Xen: the
// domain that is the instance and the control domain, both by the hypervisor's
// account. The control domain's own kernel knows only when it ran itself. What
// serves the domain there is named, the rest of the control domain is "dom0".
func (s *Launch) insideXen(a *bench.ActorOutcome, u *instance, vcpu float64) float64 {
	in := a.Scope.Inner
	src := Source{Level: bench.Inner, Actor: a.Actor, Meter: "layer"}
	domain, ok := s.rate(src, bench.CPUOf("vcpu"))
	control, known := s.rate(src, bench.CPUOf(bench.PartDom0))
	if !ok || !known {
		u.lackLayer = true
		return u.guest
	}
	ran, scale := domain+control, 1.0
	if ran > vcpu { // the hypervisor, too, may not be told of steal
		scale = vcpu / ran
	}
	u.guest = min(u.guest, domain) * scale
	u.parts[innerPrefix+"vcpu"] = domain*scale - u.guest
	u.parts[innerPrefix+bench.PartDom0] = s.serving(src, u, innerPrefix, slices.Concat(in.Helpers, in.Shared), control*scale, scale)
	return ran
}

// serving adds what the processes in a control domain took to the parts and
// returns what is left of the domain's time.
func (s *Launch) serving(src Source, u *instance, prefix string, processes []bench.Process, control, scale float64) float64 {
	for _, p := range partsOf(processes) {
		v, ok := s.rate(src, bench.CPUOf(p))
		u.lackLayer = u.lackLayer || !ok
		v = min(v*scale, control)
		u.parts[prefix+p] = v
		control -= v
	}
	return control
}

// domain is what the virtual CPUs of an instance ran that is a domain of the
// host's own hypervisor. The control domain is the host: what it spends on domains in its
// kernel is with the rest of the host.
func (s *Launch) domain(a *bench.ActorOutcome) (vcpu float64, known bool) {
	s.note("the host is Xen's control domain: the rest of it is Dom0's own share")
	vcpu, known = s.rate(Source{Level: bench.Layer, Actor: a.Actor, Meter: bench.MeterDomain}, bench.CPUOf("vcpu"))
	if known {
		s.beyond += vcpu
	}
	return vcpu, known
}
