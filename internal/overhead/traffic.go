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

// disk gives the traffic of the host's disks, of it that of the subjects, and
// what is left: the layers' and that of everything else on the host.
func (s *share) disk(o *bench.Outcome) {
	for _, f := range []struct{ host, guest, rest, column string }{
		{fDiskRead, fGuestDiskRead, fRestDiskRead, bench.ColDiskRead},
		{fDiskWrite, fGuestDiskWrite, fRestDiskWrite, bench.ColDiskWrite},
	} {
		s.put(f.host, hostProc, f.column)
		subjects, all, known, subjectsKnown := 0.0, 0.0, true, true
		for i := range o.Actors {
			a := &o.Actors[i]
			v, ok := s.diskOf(a, f.column)
			known, all = known && ok, all+v
			if a.Role == bench.Subject {
				subjectsKnown, subjects = subjectsKnown && ok, subjects+v
			}
		}
		if subjectsKnown {
			s.is[f.guest] = subjects
		}
		host, ok := s.is[f.host]
		switch rest := host - all; {
		case !ok || !known:
		case rest >= 0:
			s.is[f.rest] = rest
		case rest >= -0.02*host:
			s.is[f.rest] = 0
		default:
			s.note("%s: instances account for more than the host's disks, so its page cache serves them: the rest is not given", f.host)
		}
	}
}

// diskOf is an actor's traffic: what the kernel charges to its control group
// or, if it has a kernel of its own, what that one asks of its disks.
func (s *share) diskOf(a *bench.ActorOutcome, column string) (float64, bool) {
	switch {
	case a.Scope == nil:
		return 0, false // noted with its CPU time
	case a.Scope.OwnKernel:
		return s.rate(counter(a), column)
	}
	return s.rate(source{bench.Layer, a.Actor, "cgroup"}, column)
}
