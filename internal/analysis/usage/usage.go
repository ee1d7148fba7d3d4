// Package usage books the resources of a host on who used them, from the samples
// of a launch: the guest, the layer that serves it, other actors, the rest of the
// host, and what is in none of them. It knows launches, not runs.
package usage

import (
	"fmt"
	"slices"

	"tare/internal/bench"
	"tare/internal/result"
)

// unattributedNote is the share of the host's busy time from which on what could
// not be attributed is pointed at.
const unattributedNote = 0.03

// Of averages the launches of a scene.
func Of(sc *bench.Scene, label string, launches []*Launch) result.Usage {
	u := result.Usage{Platform: sc.Platform.String(), Label: label, N: len(launches)}
	sums, known := u.Figures(), map[string]int{}
	for _, s := range launches {
		for i, f := range s.Figures() {
			if f.Known {
				sums[i].Value += f.Value
				known[f.Name]++
			}
		}
	}
	for _, f := range sums {
		switch n := known[f.Name]; {
		case n == 0:
			u.Absent = append(u.Absent, f.Name)
			continue
		case n < len(launches):
			u.Notes = append(u.Notes, fmt.Sprintf("%s is from %d of %d launches", f.Name, n, len(launches)))
		}
		f.Value /= float64(known[f.Name])
		f.Known = true
	}
	// What a monitor has beyond the guest's memory, such as translated code, is not moved.
	u.Given = memoryOfSubjects(sc)
	u.MigrationBytes.Value = min(u.MigrationBytes.Value, u.Given)
	split(&u, launches)
	attribute(&u)
	for _, s := range launches {
		for _, n := range s.Notes {
			if !slices.Contains(u.Notes, n) {
				u.Notes = append(u.Notes, n)
			}
		}
	}
	u.CPUOverhead = equation3(u.GuestCPU, u.LayerCPU)
	u.MemOverhead = equation3(u.GuestMem, u.LayerMem)
	if guest := together(u.GuestDiskRead, u.GuestDiskWrite); guest.Value >= leastTraffic {
		u.DiskOverhead = equation3(guest, together(u.LayerDiskRead, u.LayerDiskWrite))
	}
	return u
}

// attribute sets what is unattributed against the whole.
func attribute(u *result.Usage) {
	if !u.Unattributed.Known || !u.BusyCPU.Known || u.BusyCPU.Value <= 0 {
		return
	}
	v := u.Unattributed.Value / u.BusyCPU.Value
	u.UnattributedShare = &v
	if v > unattributedNote {
		why := "no task ran"
		if _, measured := u.OtherParts[otherIdleIRQ]; !measured {
			why += ", as when interrupts wake an idle CPU, which was not measured here"
		}
		u.Notes = append(u.Notes, fmt.Sprintf("%.1f %% of the host's busy time (%.3f cores) are unattributed: %s", 100*v, u.Unattributed.Value, why))
	}
	if v < -unattributedNote {
		u.Notes = append(u.Notes, fmt.Sprintf("the parts exceed the host's busy time by %.1f %% (%.3f cores)", -100*v, -u.Unattributed.Value))
	}
}

// mean averages parts over the launches in which the figure they split is known;
// a part that a launch lacks was zero there.
func mean(launches []*Launch, split func(*Launch) (result.Measured, map[string]float64)) map[string]float64 {
	var out map[string]float64
	known := 0
	for _, s := range launches {
		whole, parts := split(s)
		if !whole.Known {
			continue
		}
		known++
		for p, v := range parts {
			if out == nil {
				out = map[string]float64{}
			}
			out[p] += v
		}
	}
	for p := range out {
		out[p] /= float64(known)
	}
	return out
}

// split averages the parts of the layer and of the rest, and the other actors.
func split(u *result.Usage, launches []*Launch) {
	u.Parts = mean(launches, func(s *Launch) (result.Measured, map[string]float64) { return s.LayerCPU, s.Parts })
	u.OtherParts = mean(launches, func(s *Launch) (result.Measured, map[string]float64) { return s.OtherCPU, s.OtherParts })
	u.IdleDaemons = mean(launches, func(s *Launch) (result.Measured, map[string]float64) { return s.LayerCPU, s.IdleDaemons })
	n := map[bench.Role]int{}
	for _, s := range launches {
		for r, v := range s.Actors {
			if u.Actors == nil {
				u.Actors = map[bench.Role]float64{}
			}
			u.Actors[r] += v
			n[r]++
		}
	}
	for r := range u.Actors {
		u.Actors[r] /= float64(n[r])
	}
}

// leastTraffic is the disk traffic of subjects, in bytes per second, of which an overhead is given. Below,
// a log that the layer writes now and then would be most of it.
const leastTraffic = 1e6

// together is the sum of two figures, known if both are.
func together(a, b result.Measured) result.Measured {
	if !a.Known || !b.Known {
		return result.Measured{}
	}
	return result.Known(a.Value + b.Value)
}

// equation3 is that of tesfatsion2018 with the sign kept: whole is guest
// and layer together, so (whole - guest) / guest is layer / guest.
func equation3(guest, layer result.Measured) *float64 {
	if !guest.Known || !layer.Known || guest.Value <= 0 {
		return nil
	}
	v := layer.Value / guest.Value
	return &v
}
