package plan

import (
	"net/netip"
	"slices"
	"strings"

	"tare/internal/bench"
	"tare/internal/spec"
)

// Misfits are what of an experiment is too large for the host, of one that could
// not be read as a whole, too. What else cannot run is found by [Make].
func Misfits(e *spec.Experiment, in Inputs) (errs spec.Errors) {
	m := &maker{Inputs: in}
	for _, s := range e.Scenes {
		if !s.Optional {
			errs = append(errs, m.checkSize(s)...)
		}
	}
	return errs.Sorted()
}

// check returns the scenes that can run here, before anything runs. An optional
// scene that cannot is left out with a warning; any other is an error.
func (m *maker) check(e *spec.Experiment) (can []spec.Scene, errs spec.Errors) {
	at := e.Places.At("scenes")
	for _, s := range e.Scenes {
		m.findings.see(s.Name, s.Case())
		if name, why := m.cannotSet(s); why != "" {
			m.findings.add(s.Case(), []string{"left out: " + why})
			at = s.Places.At("conditions." + name)
			continue
		}
		s, found := m.grown(m.fit(m.whole(s)))
		if len(found) == 0 {
			found = m.checkScene(s, e)
		}
		switch {
		case len(found) == 0:
			can = append(can, s)
		case s.Optional:
			m.findings.add(s.Case(), []string{"left out: " + found[0].Err.Error()})
		default:
			errs = append(errs, found...)
		}
	}
	if len(can)+len(errs) == 0 {
		errs = spec.Errors{at.Errorf("this host can run none of the scenes: %s", strings.Join(m.findings.warnings(), "; "))}
	}
	return can, errs
}

// cannotSet says which of the scene's conditions this host does not let be set, and why.
// Like a platform it does not have, that is not a mistake of the specification.
func (m *maker) cannotSet(s spec.Scene) (name, why string) {
	for _, name := range bench.ConditionNames {
		value, wanted := s.Conditions[name]
		if !wanted {
			continue
		}
		control, known := m.Host.Controls[name]
		if !known {
			control.Why = name + ": nothing is known of this host's control over it"
		}
		if why := control.Refuses(name, value); why != "" {
			return name, why
		}
	}
	return "", ""
}

// checkSize looks for what is larger than the machine.
func (m *maker) checkSize(s spec.Scene) (errs spec.Errors) {
	if s.Pool > len(m.Host.CPUs) {
		errs = append(errs, s.Places.At("pool").Errorf("a pool of %d CPUs is more than the %d this host has", s.Pool, len(m.Host.CPUs)))
	}
	if most := m.mostMemory(); most > 0 && s.MemoryPool > most {
		errs = append(errs, s.Places.At("memory_pool").Errorf("a pool of %s of memory leaves this host less than an eighth of its %s%w", s.MemoryPool, m.Host.Memory,
			bench.Hint("the ratio counts, not the size: make pool and instances smaller alike")))
	}
	for _, a := range s.Actors {
		if s.Pool > 0 && a.Shape.CPUs > s.Pool {
			errs = append(errs, a.Places.At("shape.cpus").Errorf("%s: %d CPUs are more than the scene's pool of %d", a.Name, a.Shape.CPUs, s.Pool))
		}
		errs = append(errs, m.checkShape(a)...)
	}
	return append(errs, m.checkContainments(s)...)
}

// checkScene looks at what only this host can tell: sizes, combinations a
// workload refuses, an actor on a platform that is not there.
func (m *maker) checkScene(s spec.Scene, e *spec.Experiment) spec.Errors {
	errs := m.checkSize(s)
	if n := subjects(s); s.Migrate != "" && n > 1 {
		errs = append(errs, s.Places.At("migrate").Errorf("%d subjects: a scene migrates one%w", n, bench.Hint("let others stand beside it: beside, or idle: 3")))
	}
	for _, a := range s.Actors {
		errs = append(errs, m.checkRoom(s, a)...)
		errs = append(errs, m.checkPlatform(a)...)
		if a.Workload == "" {
			continue
		}
		if s.Startup {
			errs = append(errs, a.Places.At("").Errorf("%s: a start-up scene runs no workload beside the launch for now%w", a.Name,
				bench.Hint("let instances that do nothing take up room: idle: 10")))
		}
		w := m.Words.Workload(a.Workload)
		steps, err := w.Steps(a.Part, a.Params, m.setting(s, a))
		if err != nil {
			errs = append(errs, a.Places.Blame(err, "workload"))
		}
		errs = append(errs, m.checkAway(e, a, steps)...)
	}
	errs = append(errs, m.checkPool(s)...)
	if !s.Startup && s.Migrate == "" {
		errs = append(errs, m.checkContainmentTime(s)...)
	}
	return errs
}

// subjects is how many instances of a scene are measured.
func subjects(s spec.Scene) (n int) {
	for _, a := range s.Actors {
		if a.Role == bench.Subject {
			n += a.Count
		}
	}
	return n
}

func (m *maker) checkShape(a spec.Actor) (errs spec.Errors) {
	host := m.Host
	if a.Shape.CPUs > len(host.CPUs) {
		errs = append(errs, a.Places.At("shape.cpus").Errorf("%d CPUs are more than the %d this host has%w", a.Shape.CPUs, len(host.CPUs),
			bench.Hint("an instance cannot have more CPUs than the host; several instances may share them")))
	}
	if host.Memory > 0 && a.Shape.Memory > host.Memory {
		errs = append(errs, a.Places.At("shape.memory").Errorf("%s of memory are more than the %s this host has%w", a.Shape.Memory, host.Memory,
			bench.Hint("a limit above the host's memory limits nothing, and a VM of that size cannot start")))
	}
	if host.DiskFree > 0 && a.Shape.Disk > host.DiskFree {
		errs = append(errs, a.Places.At("shape.disk").Errorf("%s of scratch space are more than the %s free on this host's disk%w", a.Shape.Disk, host.DiskFree,
			bench.Hint("ask for less, or keep the state directory on a larger disk")))
	}
	return errs
}

// checkRoom looks at what an instance takes beyond its shape: of a nesting, the
// outer guests' own memory and disk.
func (m *maker) checkRoom(s spec.Scene, a spec.Actor) (errs spec.Errors) {
	on := s.Platforms.Named
	if a.Platform != nil {
		on = []bench.PlatformRef{*a.Platform}
	}
	for _, ref := range on {
		beyond := m.Available[ref.Driver()].Beyond
		if sum := a.Shape.Memory + beyond.Memory; beyond.Memory > 0 && m.Host.Memory > 0 && a.Shape.Memory <= m.Host.Memory && sum > m.Host.Memory {
			errs = append(errs, a.Places.At("shape.memory").Errorf("%s of memory, with the %s of outer guests on %s, are more than the %s this host has%w",
				sum, beyond.Memory, ref, m.Host.Memory, bench.Hint("a guest that other platforms run in needs memory of its own: ask for less, or leave the nesting out")))
		}
		if sum := a.Shape.Disk + beyond.Disk; beyond.Disk > 0 && m.Host.DiskFree > 0 && a.Shape.Disk <= m.Host.DiskFree && sum > m.Host.DiskFree {
			errs = append(errs, a.Places.At("shape.disk").Errorf("%s of scratch space, with the %s of outer guests on %s, are more than the %s free on this host's disk%w",
				sum, beyond.Disk, ref, m.Host.DiskFree, bench.Hint("ask for less, or keep the state directory on a larger disk")))
		}
	}
	return errs
}

// checkPlatform looks at an actor that is not on the platform under test.
func (m *maker) checkPlatform(a spec.Actor) (errs spec.Errors) {
	at := a.Places.At("platform")
	switch {
	case a.Role == bench.Peer && (a.Platform == nil || a.Platform.Driver() != bench.Native):
		return spec.Errors{at.Errorf("%s: a peer runs natively for now%w", a.Name,
			bench.Hint("it stands for another machine, in a network namespace of its own; leave its platform out"))}
	case a.Platform == nil:
		return nil
	}
	if why := m.whyNot(*a.Platform); why != nil {
		return spec.Errors{at.Errorf("%s needs %s, which cannot run here: %s: %w%w", a.Name, a.Platform, why.Reason,
			bench.ErrUnavailable, bench.Hint(why.Hint))}
	}
	return nil
}

// setting is what an actor's workload would be told.
func (m *maker) setting(s spec.Scene, a spec.Actor) bench.Setting {
	return Setting(s.Timing, a.Shape, s.Members(), m.Host.LLC, m.Words.Workload(a.Workload))
}

// Setting is what a workload would be told, with addresses kept for documentation (RFC 5737) in
// place of those a run allocates.
func Setting(t bench.Timing, s bench.Shape, members int, llc bench.Bytes, w bench.Workload) bench.Setting {
	addr := map[string]netip.Addr{}
	for i, part := range append([]string{bench.SubjectPart}, w.Parts()...) {
		addr[part] = netip.AddrFrom4([4]byte{192, 0, 2, byte(i + 1)})
	}
	set := bench.Setting{Timing: t, Shape: s, LLC: llc, Addr: addr}
	if part := bench.MembersPart(w); part != "" {
		set.Members = slices.Repeat([]netip.Addr{addr[part]}, members)
	}
	return set
}
