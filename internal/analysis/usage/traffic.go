package usage

import (
	"tare/internal/bench"
	"tare/internal/result"
)

// network sums the subjects' traffic, at the host ends of their devices where
// they have such, else as seen inside. The rest is that of the host's own
// devices, which the test network's wires are not among.
func (s *Launch) network(o *bench.Outcome) {
	for _, f := range []struct {
		guest, rest *result.Measured
		column      string
	}{
		{&s.NetRx, &s.OtherNetRx, bench.ColNetRx}, {&s.NetTx, &s.OtherNetTx, bench.ColNetTx},
	} {
		s.put(f.rest, HostProc, f.column)
		sum, known := 0.0, true
		for _, a := range o.Actors {
			if !a.Role.OfSubject() {
				continue
			}
			src := Source{Level: bench.Layer, Actor: a.Actor, Meter: "net"}
			if s.counters[src] == nil {
				src = Source{Level: bench.Guest, Actor: a.Actor, Meter: "agent"}
			}
			v, ok := s.rate(src, f.column)
			sum, known = sum+v, known && ok
		}
		if known {
			*f.guest = result.Known(sum)
		}
	}
}

// disk gives the traffic of the host's disks, of it that of the subjects, that
// of the processes that serve them, and what is left.
func (s *Launch) disk(o *bench.Outcome) {
	for _, f := range []struct {
		name                     string
		host, guest, layer, rest *result.Measured
		column                   string
		of                       func(part string) string
	}{
		{"disk_read_bytes_per_s", &s.DiskRead, &s.GuestDiskRead, &s.LayerDiskRead, &s.OtherDiskRead, bench.ColDiskRead, bench.ReadOf},
		{"disk_write_bytes_per_s", &s.DiskWrite, &s.GuestDiskWrite, &s.LayerDiskWrite, &s.OtherDiskWrite, bench.ColDiskWrite, bench.WrittenOf},
	} {
		s.put(f.host, HostProc, f.column)
		var guests, layers, all float64
		guestsKnown, layersKnown, allKnown := true, true, true
		counted := map[daemon]bool{}
		for i := range o.Actors {
			a := &o.Actors[i]
			if s.counters[Source{Level: bench.Layer, Actor: a.Actor, Meter: "quiet"}] != nil {
				continue // it rests: what little it asks of the disks is with the rest
			}
			guest, known := s.diskOf(a, f.column)
			layer, layerKnown := s.helpersDisk(a, f.of, guest, counted)
			// What a guest's own disks serve is the monitor's traffic too; that of
			// processes beside a control group adds to the group's.
			all += guest + layer
			allKnown = allKnown && known
			if a.Role.OfSubject() {
				guests, guestsKnown = guests+guest, guestsKnown && known
				layers, layersKnown = layers+layer, layersKnown && layerKnown && (known || !CountsItself(a.Scope))
			}
		}
		if guestsKnown {
			*f.guest = result.Known(guests)
		}
		if layersKnown {
			*f.layer = result.Known(layers)
		}
		switch rest := f.host.Value - all; {
		case !f.host.Known || !allKnown:
		case rest >= 0:
			*f.rest = result.Known(rest)
		case rest >= -0.02*f.host.Value:
			*f.rest = result.Known(0)
		default:
			s.note("%s: instances account for more than the host's disks, so its page cache serves them: the rest is not given", f.name)
		}
	}
}

// helpersDisk is what the processes that serve an actor caused, beyond what a
// guest with a kernel of its own asked its disks for, which they do on its
// behalf. Daemons count with the first actor of their platform.
func (s *Launch) helpersDisk(a *bench.ActorOutcome, of func(part string) string, guest float64, counted map[daemon]bool) (float64, bool) {
	if a.Scope == nil {
		return 0, false
	}
	t := s.counters[Source{Level: bench.Layer, Actor: a.Actor, Meter: "helpers"}]
	sum, known, seen := 0.0, true, map[string]bool{}
	add := func(part string) {
		v, why := t.Rate(of(part), s.Window)
		sum, known = sum+v, known && why == ""
	}
	for _, p := range a.Scope.Helpers {
		if !seen[p.Part] {
			seen[p.Part] = true
			add(p.Part)
		}
	}
	for _, p := range a.Scope.Shared {
		if d := (daemon{a.Platform.Driver(), p.Part}); !seen[p.Part] && !counted[d] {
			seen[p.Part], counted[d] = true, true
			add(p.Part)
		}
	}
	if CountsItself(a.Scope) {
		sum = max(0, sum-guest)
		known = known && len(seen) > 0 // else its monitor is not known
	}
	return sum, known
}

// diskOf is an actor's traffic: what the kernel charges to its control group
// or, if it has a kernel of its own, what that one asks of its disks.
func (s *Launch) diskOf(a *bench.ActorOutcome, column string) (float64, bool) {
	switch {
	case a.Scope == nil:
		return 0, false // noted with its CPU time
	case CountsItself(a.Scope):
		return s.rate(counter(a), column)
	}
	return s.rate(Source{Level: bench.Layer, Actor: a.Actor, Meter: "cgroup"}, column)
}
