package report

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/figure"
	"tare/internal/result"
)

// usageView is where the resources of one platform's trials went, as in table 4
// of tesfatsion2018.
type usageView struct {
	Name, Guest, Layer, Others, Rest, Unattributed, Steal, Overhead string
	Parts, RestParts                                                string
	Memory, RestMemory, MemoryOverhead, Moves                       string
	DiskRead, DiskWrite, LayerDisk, RestDisk, Net, RestNet          string
	Notes                                                           []string
}

// unbroken keeps a number and its unit on one line.
var unbroken = strings.NewReplacer(" ", "\u00a0")

func usageOf(c result.Case) []usageView {
	var views []usageView
	for i := range c.Usage {
		u := &c.Usage[i]
		v := usageView{
			Name: labelled(u.Platform, u.Label), Notes: u.Notes,
			Guest: cores(u.GuestCPU), Layer: cores(u.LayerCPU),
			Rest: cores(u.RestCPU), Unattributed: unattributed(u), Steal: cores(u.StealCPU),
			Others:   othersOf(u),
			Overhead: overheadOf(u.CPUOverhead), MemoryOverhead: overheadOf(u.MemOverhead),
			Parts: partsOf(u.Parts), RestParts: partsOf(u.RestParts),
			Memory:     pair(u.GuestMem, u.LayerMem, "bytes", " + "),
			RestMemory: unbroken.Replace(amount(u.RestMem, "bytes")),
			Moves:      pair(u.Moves, result.Known(u.Given), "bytes", " of "),
			DiskRead:   pair(u.GuestDiskRead, u.DiskRead, "bytes/s", " of "),
			DiskWrite:  pair(u.GuestDiskWrite, u.DiskWrite, "bytes/s", " of "),
			LayerDisk:  pair(u.LayerDiskRead, u.LayerDiskWrite, "bytes/s", ", "),
			RestDisk:   pair(u.RestDiskRead, u.RestDiskWrite, "bytes/s", ", "),
			Net:        pair(u.NetRx, u.NetTx, "bytes/s", ", "),
			RestNet:    pair(u.RestNetRx, u.RestNetTx, "bytes/s", ", "),
		}
		views = append(views, v)
	}
	return views
}

func overheadOf(v *float64) string {
	if v == nil {
		return "–"
	}
	return figure.Percent(*v)
}

// pair writes two quantities of a row.
func pair(a, b result.Measured, unit, between string) string {
	return unbroken.Replace(amount(a, unit)) + between + unbroken.Replace(amount(b, unit))
}

func others(u *result.Usage) float64 {
	sum := 0.0
	for _, c := range u.Others {
		sum += c
	}
	return sum
}

// othersNote says what the column of others is.
const othersNote = "Others: peers, neighbours and idle instances with their layers."

// accompanied reports whether a case has such others.
func accompanied(c result.Case) bool {
	return slices.ContainsFunc(c.Usage, func(u result.Usage) bool { return len(u.Others) > 0 })
}

func othersOf(u *result.Usage) string {
	if len(u.Others) == 0 {
		return "–"
	}
	return figure.Fixed(others(u), 3)
}

func cores(v result.Measured) string {
	if !v.Known {
		return "not measured"
	}
	return figure.Fixed(v.Value, 3)
}

func amount(v result.Measured, unit string) string {
	if !v.Known {
		return "not measured"
	}
	return figure.Quantity(v.Value, unit)
}

// unattributed is in cores and as a share of the host's busy time.
func unattributed(u *result.Usage) string {
	s := cores(u.Unattributed)
	if u.UnattributedShare != nil {
		s += " (" + figure.Fixed(100**u.UnattributedShare, 1) + "\u00a0%)"
	}
	return s
}

// partsOf lists what CPU time is made of, the largest first.
func partsOf(parts map[string]float64) string {
	type part struct {
		name  string
		cores float64
	}
	var ps []part
	for n, c := range parts {
		ps = append(ps, part{n, c})
	}
	slices.SortFunc(ps, func(a, b part) int {
		switch {
		case a.cores > b.cores:
			return -1
		case a.cores < b.cores:
			return 1
		case a.name < b.name:
			return -1
		}
		return 1
	})
	s := ""
	for i, p := range ps {
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprintf("%s %.4f", p.name, p.cores)
	}
	return s
}
