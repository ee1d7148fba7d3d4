package overhead

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
)

// counter is where the CPU time and memory of the instance itself are read: by
// its own kernel, through its agent, or of an instance nested as processes of the
// outer guest, from its cgroup there.
func counter(a *bench.ActorOutcome) source {
	if in := a.Scope.Inner; in != nil && !in.OwnKernel {
		return source{bench.Inner, a.Actor, "layer"}
	}
	return source{bench.Guest, a.Actor, "agent"}
}

// inCgroup are the parts of helpers that the instance's own cgroup counts too.
func inCgroup(list []bench.Process) []string {
	return partsOf(slices.DeleteFunc(slices.Clone(list), func(p bench.Process) bool { return !p.Inside }))
}

// inside is what the vCPU threads ran for: the guest, or of a nesting the whole
// outer guest, whose share beyond the inner instance is added to the layer's parts.
// An outer guest that is not told of steal takes it for its own in all it counts:
// each part is then scaled down, so that they sum to what the vCPU threads ran.
func (s *share) inside(a *bench.ActorOutcome, u *instance, vcpu float64) float64 {
	in := a.Scope.Inner
	switch {
	case in == nil:
		return u.guest
	case in.Domain != 0:
		return s.insideXen(a, u, vcpu)
	}
	ran, ok := s.rate(source{bench.Outer, a.Actor, "agent"}, bench.ColCPUBusy)
	if !ok {
		u.lackLayer = true
		return u.guest
	}
	src := source{bench.Inner, a.Actor, "layer"}
	if !in.OwnKernel {
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
		if p == "vcpu" { // of an inner virtual machine: what it ran for its guest is that guest's
			v -= u.guest
		}
		v = min(max(0, v), left)
		u.parts[innerPrefix+p] = v
		left -= v
	}
	u.parts[outerGuest] = left
	return ran
}
