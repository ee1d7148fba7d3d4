package overhead

import (
	"fmt"
	"slices"

	"tare/internal/bench"
	"tare/internal/result"
)

// unattributedNote is the share of the host's busy time from which on what could
// not be attributed is pointed at.
const unattributedNote = 0.03

// field is a field of Usage that may be absent, by its JSON name.
type field struct {
	name  string
	value *float64
}

func fields(u *result.Usage) []field {
	return []field{
		{fGuestCPU, &u.GuestCPU}, {fLayerCPU, &u.LayerCPU}, {fRestCPU, &u.RestCPU}, {fStealCPU, &u.StealCPU},
		{fBusyCPU, &u.BusyCPU}, {fUnattributed, &u.Unattributed}, {fSoftIRQ, &u.SoftIRQ},
		{fGuestMem, &u.GuestMem}, {fLayerMem, &u.LayerMem}, {fRestMem, &u.RestMem}, {fMoves, &u.Moves},
		{fDiskRead, &u.DiskRead}, {fDiskWrite, &u.DiskWrite},
		{fGuestDiskRead, &u.GuestDiskRead}, {fGuestDiskWrite, &u.GuestDiskWrite},
		{fLayerDiskRead, &u.LayerDiskRead}, {fLayerDiskWrite, &u.LayerDiskWrite},
		{fRestDiskRead, &u.RestDiskRead}, {fRestDiskWrite, &u.RestDiskWrite},
		{fNetRx, &u.NetRx}, {fNetTx, &u.NetTx}, {fRestNetRx, &u.RestNetRx}, {fRestNetTx, &u.RestNetTx},
	}
}

// usage averages the launches of a scene.
func (o *observed) usage(sc *bench.Scene, label string) result.Usage {
	u := result.Usage{Platform: sc.Platform.String(), Label: label, N: len(o.shares[sc.ID])}
	shares := o.shares[sc.ID]
	for _, f := range fields(&u) {
		field, into, n := f.name, f.value, 0
		for _, s := range shares {
			if v, ok := s.is[field]; ok {
				*into += v
				n++
			}
		}
		switch {
		case n == 0:
			u.Absent = append(u.Absent, field)
			continue
		case n < len(shares):
			u.Notes = append(u.Notes, fmt.Sprintf("%s is from %d of %d launches", field, n, len(shares)))
		}
		*into /= float64(n)
	}
	// What a monitor has beyond the guest's memory, such as translated code, is not moved.
	u.Given = memoryOfSubjects(sc)
	u.Moves = min(u.Moves, u.Given)
	split(&u, shares)
	attribute(&u)
	for _, s := range shares {
		for _, n := range s.notes {
			if !slices.Contains(u.Notes, n) {
				u.Notes = append(u.Notes, n)
			}
		}
	}
	u.CPUOverhead = overhead(&u, fGuestCPU, u.GuestCPU, fLayerCPU, u.LayerCPU)
	u.MemOverhead = overhead(&u, fGuestMem, u.GuestMem, fLayerMem, u.LayerMem)
	return u
}

// attribute sets what is unattributed against the whole.
func attribute(u *result.Usage) {
	if !u.Has(fUnattributed) || !u.Has(fBusyCPU) || u.BusyCPU <= 0 {
		return
	}
	v := u.Unattributed / u.BusyCPU
	u.UnattributedShare = &v
	if v > unattributedNote {
		why := "no task ran"
		if _, measured := u.RestParts[restIdleIRQ]; !measured {
			why += ", as when interrupts wake an idle CPU, which was not measured here"
		}
		u.Notes = append(u.Notes, fmt.Sprintf("%.1f %% of the host's busy time (%.3f cores) are unattributed: %s", 100*v, u.Unattributed, why))
	}
	if v < -unattributedNote {
		u.Notes = append(u.Notes, fmt.Sprintf("the parts exceed the host's busy time by %.1f %% (%.3f cores)", -100*v, -u.Unattributed))
	}
}

// mean averages parts over the launches in which the field they split is known;
// a part that a launch lacks was zero there.
func mean(shares []*share, field string, parts func(*share) map[string]float64) map[string]float64 {
	var out map[string]float64
	known := 0
	for _, s := range shares {
		if _, ok := s.is[field]; !ok {
			continue
		}
		known++
		for p, v := range parts(s) {
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
func split(u *result.Usage, shares []*share) {
	u.Parts = mean(shares, fLayerCPU, func(s *share) map[string]float64 { return s.parts })
	u.RestParts = mean(shares, fRestCPU, func(s *share) map[string]float64 { return s.rest })
	u.IdleDaemons = mean(shares, fLayerCPU, func(s *share) map[string]float64 { return s.daemons })
	n := map[bench.Role]int{}
	for _, s := range shares {
		for r, v := range s.others {
			if u.Others == nil {
				u.Others = map[bench.Role]float64{}
			}
			u.Others[r] += v
			n[r]++
		}
	}
	for r := range u.Others {
		u.Others[r] /= float64(n[r])
	}
}

// overhead is equation 3 of tesfatsion2018 with the sign kept: whole is guest
// and layer together, so (whole - guest) / guest is layer / guest.
func overhead(u *result.Usage, guestField string, guest float64, layerField string, layer float64) *float64 {
	if !u.Has(guestField) || !u.Has(layerField) || guest <= 0 {
		return nil
	}
	v := layer / guest
	return &v
}
