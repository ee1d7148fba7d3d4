package usage

import (
	"fmt"
	"maps"
	"slices"

	"tare/internal/bench"
	"tare/internal/result"
)

// A Launch is where the resources of one launch went: a row of its own.
type Launch struct {
	result.Usage
	Window [2]int64
	// GuestInLayer: what a subject's guest used is in the layer's figures, as no agent tells it apart.
	GuestInLayer bool
	// Subjects are the CPU of each subject with the layer that serves it alone, in cores; none where one
	// is not known.
	Subjects []float64
	counters Sources
	// idle is what daemons use.
	idle Idle
	// beyond is what domains of the host's hypervisor ran, which the host's own counters leave out.
	beyond float64
}

// instance is what one actor used, itself and in its layer.
type instance struct {
	guest, layer       float64
	parts              map[string]float64
	guestMem, layerMem float64
	lackCPU, lackLayer bool
	lackMem, lackLMem  bool
	// whole: what its guest used is in its layer's figures, and is not known by itself.
	whole bool
	// held is its and its layer's memory together, a guest's page cache included.
	held float64
	// migrationBytes is what a migration would have to move, nil if that is not known.
	migrationBytes *float64
}

// LaunchOf works out where the resources of a finished trial went.
func LaunchOf(o *bench.Outcome, tracks Sources, idle Idle) *Launch {
	s := &Launch{Window: o.Window, counters: tracks, idle: idle}
	s.Parts, s.Actors, s.IdleDaemons = map[string]float64{}, map[bench.Role]float64{}, map[string]float64{}
	s.put(&s.StealCPU, HostProc, bench.ColCPUSteal)
	s.disk(o)
	s.network(o)

	shared := map[string]bool{} // platforms whose shared daemons are counted already
	var sum instance
	var moves total
	var used, held float64 // by all actors
	usedKnown, heldKnown, eachKnown := true, true, true
	// Subjects and their members come first, so that shared daemons count as theirs.
	for _, subject := range []bool{true, false} {
		for i := range o.Actors {
			a := &o.Actors[i]
			if a.Role.OfSubject() != subject || a.Host != "" { // another host pays
				continue
			}
			u := s.instance(a, shared)
			known := (!u.lackCPU || u.whole) && !u.lackLayer
			usedKnown = usedKnown && known
			heldKnown = heldKnown && (!u.lackMem || u.whole) && !u.lackLMem
			used += u.guest + u.layer
			held += u.held
			if !subject {
				if known {
					s.Actors[a.Role] += u.guest + u.layer
				}
				continue
			}
			if a.Role == bench.Subject {
				s.Subjects, eachKnown = append(s.Subjects, u.guest+u.layer), eachKnown && known
			}
			s.GuestInLayer = s.GuestInLayer || u.whole
			sum.guest += u.guest
			sum.layer += u.layer
			sum.guestMem += u.guestMem
			sum.layerMem += u.layerMem
			moves.add(u.migrationBytes)
			sum.lackCPU, sum.lackLayer = sum.lackCPU || u.lackCPU, sum.lackLayer || u.lackLayer
			sum.lackMem, sum.lackLMem = sum.lackMem || u.lackMem, sum.lackLMem || u.lackLMem
			for p, v := range u.parts {
				s.Parts[p] += v
			}
		}
	}
	if !eachKnown {
		s.Subjects = nil
	}
	s.GuestCPU = result.Measured{Value: sum.guest, Known: !sum.lackCPU}
	s.LayerCPU = result.Measured{Value: sum.layer, Known: !sum.lackLayer}
	s.GuestMem = result.Measured{Value: sum.guestMem, Known: !sum.lackMem}
	s.LayerMem = result.Measured{Value: sum.layerMem, Known: !sum.lackLMem}
	if moves.known() {
		s.MigrationBytes = result.Known(moves.sum)
	}
	s.hostTotals(used, usedKnown)
	s.memory(held, heldKnown)
	return s
}

// Counters is what was read of a source within the window; nil of one that was not.
func (s *Launch) Counters(src Source) *Counters { return s.counters[src] }

// Load is the CPU time of tasks that are not part of the scene, nor the observer,
// in cores. Where the kernel does not tell tasks apart it is all the rest of the host.
func (s *Launch) Load() *float64 {
	if v, ok := s.OtherParts[otherTasks]; ok {
		return &v
	}
	return s.OtherCPU.Pointer()
}

func (s *Launch) note(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); !slices.Contains(s.Notes, n) {
		s.Notes = append(s.Notes, n)
	}
}

func (s *Launch) rate(src Source, column string) (float64, bool) {
	v, why := s.counters[src].Rate(column, s.Window)
	if why != "" {
		s.note("%s meter %s", src, why)
	}
	return v, why == ""
}

func (s *Launch) level(src Source, column string) (float64, bool) {
	v, why := s.counters[src].Level(column)
	if why != "" {
		s.note("%s meter %s", src, why)
	}
	return v, why == ""
}

func (s *Launch) put(into *result.Measured, src Source, column string) {
	if v, ok := s.rate(src, column); ok {
		*into = result.Known(v)
	}
}

// instance works out what an actor used. Daemons that several instances share
// are read with each, and counted with the first.
func (s *Launch) instance(a *bench.ActorOutcome, counted map[string]bool) instance {
	u := instance{parts: map[string]float64{}}
	if a.Scope == nil {
		s.note("%s: it is not recorded where its cost was paid", a.Actor)
		u.lackCPU, u.lackLayer, u.lackMem, u.lackLMem = true, true, true, true
		return u
	}
	if quiet := (Source{Level: bench.Layer, Actor: a.Actor, Meter: "quiet"}); s.counters[quiet] != nil {
		s.otherWork(quiet, &u)
		return u
	}
	helpers := s.helpers(a, &u, counted)
	switch {
	case a.Platform.Agentless():
		s.fromOutside(a, &u, helpers)
	case CountsItself(a.Scope):
		s.ownKernel(a, &u, helpers)
	default:
		s.sharedKernel(a, &u, helpers)
	}
	u.migrationBytes = s.migrationBytes(a, u.held, u.lackLMem)
	for _, p := range slices.Sorted(maps.Keys(u.parts)) {
		u.layer += u.parts[p]
	}
	return u
}

// fromOutside is of a machine without an agent: the host sees what its monitor's threads used, the
// guest's code among it.
func (s *Launch) fromOutside(a *bench.ActorOutcome, u *instance, rss float64) {
	s.note("%s has no agent: what its guest used is in the layer's figures", a.Actor)
	u.whole, u.lackCPU, u.lackMem = true, true, true
	u.layerMem, u.held = rss, rss
}

// otherWork fills what an idle instance used from the meter of idle instances, which
// does not tell apart what serves it. The cache it is charged with counts as its memory.
func (s *Launch) otherWork(src Source, u *instance) {
	var busy, charged, rss bool
	u.guest, busy = s.rate(src, bench.ColCPUBusy)
	u.guestMem, charged = s.level(src, bench.ColMemCharged)
	u.layerMem, rss = s.level(src, bench.ColMemRSS)
	u.lackCPU, u.lackMem, u.lackLMem = !busy, !charged, !rss
	u.held = u.guestMem + u.layerMem
}

// CountsItself says whether an instance's own kernel tells what it used. One in
// user space that is a process of the host (gVisor's Sentry) is not relied on: the host's
// control group counts its programs, and its process is read apart.
func CountsItself(s *bench.Scope) bool {
	sandbox := func(p bench.Process) bool { return p.Part == "sandbox" && p.Inside }
	return s.OwnKernel && !slices.ContainsFunc(s.Helpers, sandbox)
}

// helpers fills u.parts with the CPU of the processes that serve the actor and
// returns their memory.
func (s *Launch) helpers(a *bench.ActorOutcome, u *instance, counted map[string]bool) (rss float64) {
	own, common := partsOf(a.Scope.Helpers), partsOf(a.Scope.Shared)
	if len(own)+len(common) == 0 {
		u.lackLMem = CountsItself(a.Scope) // its memory is that of a VMM we do not know
		return 0
	}
	src := Source{Level: bench.Layer, Actor: a.Actor, Meter: "helpers"}
	again := counted[a.Platform.Driver()] && len(common) > 0
	for _, p := range slices.Concat(own, common) {
		if again && !slices.Contains(own, p) {
			continue
		}
		v, ok := s.rate(src, bench.CPUOf(p))
		u.lackLayer = u.lackLayer || !ok
		if !ok {
			continue
		}
		if !slices.Contains(own, p) {
			v -= s.idling(daemon{a.Platform.Driver(), p}, v)
		}
		u.parts[p] = v
	}
	if again {
		rss, u.lackLMem = s.memoryOf(src, a.Scope.Helpers)
	} else {
		var ok bool
		rss, ok = s.level(src, bench.ColMemRSS)
		u.lackLMem = !ok
	}
	if len(common) > 0 {
		counted[a.Platform.Driver()] = true
	}
	return rss
}

// memoryOf sums the memory of the parts that processes play.
func (s *Launch) memoryOf(src Source, processes []bench.Process) (sum float64, lack bool) {
	seen := map[string]bool{}
	for _, p := range processes {
		if seen[p.Part] {
			continue
		}
		seen[p.Part] = true
		v, ok := s.level(src, bench.MemOf(p.Part))
		sum, lack = sum+v, lack || !ok
	}
	return sum, lack
}

// partsOf names the parts of processes as the meter does: a VMM is split by thread.
func partsOf(processes []bench.Process) []string {
	var out []string
	for _, p := range processes {
		names := []string{p.Part}
		if p.Part == "vmm" {
			names = []string{"vcpu", "iothread", "vmm"}
		}
		for _, n := range names {
			if !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	return out
}

// sharedKernel: the guest is what the kernel charges to the instance's cgroup,
// less the CPU time of helpers that are inside. Their memory holds the guest's
// own (gVisor's sandbox maps it), so it stays with the guest.
func (s *Launch) sharedKernel(a *bench.ActorOutcome, u *instance, rss float64) {
	src := Source{Level: bench.Layer, Actor: a.Actor, Meter: "cgroup"}
	var ok bool
	u.guest, ok = s.rate(src, bench.ColCPUBusy)
	u.lackCPU = !ok
	inside := slices.DeleteFunc(slices.Clone(a.Scope.Helpers), func(p bench.Process) bool { return !p.Inside })
	for _, part := range partsOf(inside) {
		u.guest -= u.parts[part]
	}
	u.guest = max(0, u.guest) // the two are not read at the same instant
	u.guestMem, ok = s.level(src, bench.ColMemUsed)
	u.lackMem = !ok
	if len(inside) > 0 {
		theirs, lack := s.memoryOf(Source{Level: bench.Layer, Actor: a.Actor, Meter: "helpers"}, inside)
		rss, u.lackLMem = max(0, rss-theirs), u.lackLMem || lack
	}
	u.layerMem = rss
	u.held = u.guestMem + rss
}

// ownKernel: the guest is what its own kernel accounts for, but no more than its
// vCPU threads ran: a guest that is not told of time taken from it (steal)
// takes that for its own. Of a nesting the same goes for the outer guest. The vCPU threads' time and the VMM's memory beyond that are the layer's.
func (s *Launch) ownKernel(a *bench.ActorOutcome, u *instance, rss float64) {
	src := counter(a)
	var ok bool
	u.guest, ok = s.rate(src, bench.ColCPUBusy)
	u.lackCPU = !ok
	vcpu, known := u.parts["vcpu"]
	if _, process := u.parts["kernel"]; process {
		// The kernel is a process of the host, and so is each program it runs:
		// they come and go, and the control group has them all.
		delete(u.parts, "kernel")
		vcpu, known = s.rate(Source{Level: bench.Layer, Actor: a.Actor, Meter: "cgroup"}, bench.ColCPUBusy)
	}
	if a.Scope.Domain != 0 {
		vcpu, known = s.domain(a)
		defer func() { u.layerMem = rss }() // of processes of the control domain, which hold nothing of the guest's
	}
	if known && ok {
		ran := s.inside(a, u, vcpu)
		if ran > vcpu {
			if ran-vcpu > 0.02+0.02*vcpu {
				s.note("%s: the guest took %.2f cores for busy in which its vCPU threads ran %.2f only; it is charged with those", a.Actor, ran, vcpu)
			}
			ran = vcpu
			u.guest = min(u.guest, vcpu)
		}
		u.parts["vcpu"] = vcpu - ran
	} else {
		u.lackLayer = true
		if !known {
			s.note("%s: no vCPU threads were read, so the layer is not known", a.Actor)
		}
	}
	u.guestMem, ok = s.level(src, bench.ColMemUsed)
	u.lackMem = !ok
	cache, cached := s.level(src, bench.ColMemCache)
	u.lackLMem = u.lackLMem || !ok || !cached
	u.layerMem = max(0, rss-u.guestMem-cache)
	u.held = rss
}
