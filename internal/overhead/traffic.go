package overhead

import "tare/internal/bench"

// network sums the subjects' traffic, at the host ends of their devices where
// they have such, else as seen inside. The rest is that of the host's own
// devices, which the lab's wires are not among.
func (s *share) network(o *bench.Outcome) {
	for _, f := range []struct{ guest, rest, column string }{
		{fNetRx, fRestNetRx, bench.ColNetRx}, {fNetTx, fRestNetTx, bench.ColNetTx},
	} {
		s.put(f.rest, hostProc, f.column)
		sum, known := 0.0, true
		for _, a := range o.Actors {
			if a.Role != bench.Subject {
				continue
			}
			src := source{bench.Layer, a.Actor, "net"}
			if s.tracks[src] == nil {
				src = source{bench.Guest, a.Actor, "agent"}
			}
			v, ok := s.rate(src, f.column)
			sum, known = sum+v, known && ok
		}
		if known {
			s.is[f.guest] = sum
		}
	}
}

// disk gives the traffic of the host's disks, of it that of the subjects, that
// of the processes that serve them, and what is left.
func (s *share) disk(o *bench.Outcome) {
	for _, f := range []struct {
		host, guest, layer, rest, column string
		of                               func(part string) string
	}{
		{fDiskRead, fGuestDiskRead, fLayerDiskRead, fRestDiskRead, bench.ColDiskRead, bench.ReadOf},
		{fDiskWrite, fGuestDiskWrite, fLayerDiskWrite, fRestDiskWrite, bench.ColDiskWrite, bench.WrittenOf},
	} {
		s.put(f.host, hostProc, f.column)
		var guests, layers, all float64
		guestsKnown, layersKnown, allKnown := true, true, true
		counted := map[daemon]bool{}
		for i := range o.Actors {
			a := &o.Actors[i]
			if s.tracks[source{bench.Layer, a.Actor, "quiet"}] != nil {
				continue // it rests: what little it asks of the disks is with the rest
			}
			guest, known := s.diskOf(a, f.column)
			layer, layerKnown := s.helpersDisk(a, f.of, guest, counted)
			// What a guest's own disks serve is the monitor's traffic too; that of
			// processes beside a control group adds to the group's.
			all += guest + layer
			allKnown = allKnown && known
			if a.Role == bench.Subject {
				guests, guestsKnown = guests+guest, guestsKnown && known
				layers, layersKnown = layers+layer, layersKnown && layerKnown && (known || !countsItself(a.Scope))
			}
		}
		if guestsKnown {
			s.is[f.guest] = guests
		}
		if layersKnown {
			s.is[f.layer] = layers
		}
		host, ok := s.is[f.host]
		switch rest := host - all; {
		case !ok || !allKnown:
		case rest >= 0:
			s.is[f.rest] = rest
		case rest >= -0.02*host:
			s.is[f.rest] = 0
		default:
			s.note("%s: instances account for more than the host's disks, so its page cache serves them: the rest is not given", f.host)
		}
	}
}

// helpersDisk is what the processes that serve an actor caused, beyond what a
// guest with a kernel of its own asked its disks for, which they do on its
// behalf. Daemons count with the first actor of their platform.
func (s *share) helpersDisk(a *bench.ActorOutcome, of func(part string) string, guest float64, counted map[daemon]bool) (float64, bool) {
	if a.Scope == nil {
		return 0, false
	}
	t := s.tracks[source{bench.Layer, a.Actor, "helpers"}]
	sum, known, seen := 0.0, true, map[string]bool{}
	add := func(part string) {
		v, why := t.rate(of(part), s.window)
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
	if countsItself(a.Scope) {
		sum = max(0, sum-guest)
		known = known && len(seen) > 0 // else its monitor is not known
	}
	return sum, known
}

// diskOf is an actor's traffic: what the kernel charges to its control group
// or, if it has a kernel of its own, what that one asks of its disks.
func (s *share) diskOf(a *bench.ActorOutcome, column string) (float64, bool) {
	switch {
	case a.Scope == nil:
		return 0, false // noted with its CPU time
	case countsItself(a.Scope):
		return s.rate(counter(a), column)
	}
	return s.rate(source{bench.Layer, a.Actor, "cgroup"}, column)
}
