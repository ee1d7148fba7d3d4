package overhead

import (
	"fmt"
	"slices"

	"tare/internal/bench"
)

// usage averages the launches of a scene.
func (o *observed) usage(sc *bench.Scene, label string) Usage {
	u := Usage{Platform: sc.Platform.String(), Label: label, N: len(o.shares[sc.ID])}
	into := map[string]*float64{
		fGuestCPU: &u.GuestCPU, fLayerCPU: &u.LayerCPU, fRestCPU: &u.RestCPU, fStealCPU: &u.StealCPU,
		fGuestMem: &u.GuestMem, fLayerMem: &u.LayerMem, fDiskRead: &u.DiskRead, fDiskWrite: &u.DiskWrite,
		fNetRx: &u.NetRx, fNetTx: &u.NetTx,
	}
	shares := o.shares[sc.ID]
	for _, field := range usageFields {
		n := 0
		for _, s := range shares {
			if v, ok := s.is[field]; ok {
				*into[field] += v
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
		*into[field] /= float64(n)
	}
	u.split(shares)
	for _, s := range shares {
		for _, n := range s.notes {
			if !slices.Contains(u.Notes, n) {
				u.Notes = append(u.Notes, n)
			}
		}
	}
	u.CPUOverhead = u.overhead(fGuestCPU, u.GuestCPU, fLayerCPU, u.LayerCPU)
	u.MemOverhead = u.overhead(fGuestMem, u.GuestMem, fLayerMem, u.LayerMem)
	return u
}

// split averages the parts of the layer, over the launches in which the layer
// is known, and the other actors.
func (u *Usage) split(shares []*share) {
	known := 0
	for _, s := range shares {
		if _, ok := s.is[fLayerCPU]; ok {
			known++
		}
	}
	for _, s := range shares {
		if _, ok := s.is[fLayerCPU]; ok {
			for p, v := range s.parts {
				if u.Parts == nil {
					u.Parts = map[string]float64{}
				}
				u.Parts[p] += v / float64(known)
			}
		}
	}
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
func (u *Usage) overhead(guestField string, guest float64, layerField string, layer float64) *float64 {
	if !u.Has(guestField) || !u.Has(layerField) || guest <= 0 {
		return nil
	}
	v := layer / guest
	return &v
}
