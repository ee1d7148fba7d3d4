package usage

import (
	"slices"

	"tare/internal/bench"
)

// The parts of a nested instance's layer that lie in its outer guest. What
// serves the inner instance there is named with the prefix, the rest of that
// guest (its kernel, the outer agent) as a whole.
const (
	innerPrefix = "inner "
	outerGuest  = "outer guest"
	// Of a nesting three deep the same, in the guest between.
	innermostPrefix = "innermost "
	innerGuest      = "inner guest"
)

// counter is where the CPU time and memory of the instance itself are read: by
// its own kernel, through its agent, or of an instance nested as processes of the
// outer guest, from its cgroup there.
func counter(a *bench.ActorOutcome) Source {
	if a.Scope.Inner != nil && !CountsItself(a.Scope.Innermost()) {
		return Source{Level: bench.Inner, Actor: a.Actor, Meter: "layer"}
	}
	return Source{Level: bench.Guest, Actor: a.Actor, Meter: "agent"}
}

// inCgroup are the parts of helpers that the instance's own cgroup counts too.
func inCgroup(list []bench.Process) []string {
	return partsOf(slices.DeleteFunc(slices.Clone(list), func(p bench.Process) bool { return !p.Inside }))
}

// inside is what the vCPU threads ran for: the guest, or of a nesting the whole
// outer guest, whose share beyond the inner instance is added to the layer's parts.
// An outer guest that is not told of steal takes it for its own in all it counts:
// each part is then scaled down, so that they sum to what the vCPU threads ran.
func (s *Launch) inside(a *bench.ActorOutcome, u *instance, vcpu float64) float64 {
	in := a.Scope.Inner
	switch {
	case in == nil:
		return u.guest
	case in.Inner != nil:
		return s.insideBetween(a, u, func() float64 { return s.insideOuter(a, u, vcpu) })
	}
	return s.insideOuter(a, u, vcpu)
}

// insideBetween divides what the guest between ran, once what it is in was divided,
// among the instance, what serves it there, and the rest of that guest.
func (s *Launch) insideBetween(a *bench.ActorOutcome, u *instance, outer func() float64) float64 {
	own, in := u.guest, a.Scope.Innermost()
	src := Source{Level: bench.Inner, Actor: a.Actor, Meter: "layer"}
	between, ok := s.rate(src, bench.CPUOf(bench.PartBetween))
	if !ok {
		u.lackLayer = true
		between = own
	}
	u.guest = between
	ran, left := outer(), u.guest
	scale := 1.0
	if between > 0 {
		scale = left / between
	}
	for _, p := range inCgroup(in.Helpers) {
		v, _ := s.rate(src, bench.CPUOf(p))
		own = max(0, own-v)
	}
	u.guest = min(own*scale, left)
	left -= u.guest
	for _, p := range partsOf(slices.Concat(in.Helpers, in.Shared)) {
		v, ok := s.rate(src, bench.CPUOf(p))
		u.lackLayer = u.lackLayer || !ok
		v = min(v*scale, left)
		u.parts[innermostPrefix+p] = v
		left -= v
	}
	u.parts[innerGuest] = left
	return ran
}

// insideOuter divides what the vCPU threads of an outer guest ran.
func (s *Launch) insideOuter(a *bench.ActorOutcome, u *instance, vcpu float64) float64 {
	in := a.Scope.Inner
	if in.Domain != 0 {
		return s.insideXen(a, u, vcpu)
	}
	ran, ok := s.rate(Source{Level: bench.Outer, Actor: a.Actor, Meter: "agent"}, bench.ColCPUBusy)
	if !ok {
		u.lackLayer = true
		return u.guest
	}
	src := Source{Level: bench.Inner, Actor: a.Actor, Meter: "layer"}
	if !CountsItself(in) {
		for _, p := range inCgroup(in.Helpers) {
			v, _ := s.rate(src, bench.CPUOf(p))
			u.guest = max(0, u.guest-v)
		}
	} else if v, ok := s.rate(src, bench.CPUOf("vcpu")); ok {
		u.guest = min(u.guest, v)
	}
	scale := 1.0
	if ran > vcpu {
		scale = vcpu / ran
	}
	left := ran * scale
	u.guest = min(u.guest*scale, left)
	left -= u.guest
	for _, p := range partsOf(slices.Concat(in.Helpers, in.Shared)) {
		v, ok := s.rate(src, bench.CPUOf(p))
		u.lackLayer = u.lackLayer || !ok
		v *= scale
		switch p {
		case "vcpu": // of an inner virtual machine: what it ran for its guest is that guest's
			v -= u.guest
		case "kernel": // a process, as is each program it runs: the control group has them all
			v, ok = s.rate(src, bench.ColCPUBusy)
			u.lackLayer = u.lackLayer || !ok
			v = v*scale - u.guest
		}
		v = min(max(0, v), left)
		u.parts[innerPrefix+p] = v
		left -= v
	}
	u.parts[outerGuest] = left
	return ran
}
