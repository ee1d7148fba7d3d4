package report

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"tare/internal/bench/figure"
	"tare/internal/report/chart"
	"tare/internal/result"
)

// usageView is where the resources of one platform's trials went, as in table 4
// of tesfatsion2018.
type usageView struct {
	Name, Guest, Layer, Others, Other, Unattributed, Steal, Overhead string
	Parts, OtherParts                                                string
	Memory, OtherMemory, MemoryOverhead, DiskOverhead, Migration     string
	DiskRead, DiskWrite, LayerDisk, OtherDisk, Net, OtherNet         string
	Notes                                                            []string
}

func usageOf(c result.Case) []usageView {
	var views []usageView
	for i := range c.Usage {
		u := &c.Usage[i]
		v := usageView{
			Name: u.Name(), Notes: u.Notes,
			Guest: cores(u.GuestCPU), Layer: cores(u.LayerCPU),
			Other: cores(u.OtherCPU), Unattributed: unattributed(u), Steal: cores(u.StealCPU),
			Others:   othersOf(u),
			Overhead: overheadOf(u.CPUOverhead), MemoryOverhead: overheadOf(u.MemOverhead), DiskOverhead: overheadOf(u.DiskOverhead),
			Parts: partsOf(u.Parts), OtherParts: partsOf(u.OtherParts),
			Memory:      pair(u.GuestMem, u.LayerMem, "bytes", " + "),
			OtherMemory: figure.Unbroken(amount(u.OtherMem, "bytes")),
			Migration:   pair(u.MigrationBytes, result.Known(u.Given), "bytes", " of "),
			DiskRead:    pair(u.GuestDiskRead, u.DiskRead, "bytes/s", " of "),
			DiskWrite:   pair(u.GuestDiskWrite, u.DiskWrite, "bytes/s", " of "),
			LayerDisk:   pair(u.LayerDiskRead, u.LayerDiskWrite, "bytes/s", ", "),
			OtherDisk:   pair(u.OtherDiskRead, u.OtherDiskWrite, "bytes/s", ", "),
			Net:         pair(u.NetRx, u.NetTx, "bytes/s", ", "),
			OtherNet:    pair(u.OtherNetRx, u.OtherNetTx, "bytes/s", ", "),
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
	return figure.Unbroken(amount(a, unit)) + between + figure.Unbroken(amount(b, unit))
}

func others(u *result.Usage) float64 {
	sum := 0.0
	for _, c := range u.Actors {
		sum += c
	}
	return sum
}

// othersNote says what the column of others is.
const othersNote = "Other instances: peers, neighbours and idle ones, with their layers."

// accompanied reports whether a case has such others.
func accompanied(c result.Case) bool {
	return slices.ContainsFunc(c.Usage, func(u result.Usage) bool { return len(u.Actors) > 0 })
}

func othersOf(u *result.Usage) string {
	if len(u.Actors) == 0 {
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
	slices.SortFunc(ps, func(a, b part) int { return cmp.Or(cmp.Compare(b.cores, a.cores), cmp.Compare(a.name, b.name)) })
	all := make([]string, len(ps))
	for i, p := range ps {
		all[i] = fmt.Sprintf("%s %.4f", p.name, p.cores)
	}
	return strings.Join(all, ", ")
}

func usageText(c result.Case) []block {
	columns := []column[result.Usage]{
		{"CPU IN CORES", result.Usage.Name},
		{"GUEST", func(u result.Usage) string { return cores(u.GuestCPU) }},
		{"LAYER", func(u result.Usage) string { return cores(u.LayerCPU) }},
		{"OTHER INSTANCES", func(u result.Usage) string { return othersOf(&u) }},
		{"REST OF HOST", func(u result.Usage) string { return cores(u.OtherCPU) }},
		{"UNATTRIBUTED", func(u result.Usage) string { return unattributed(&u) }},
		{"STEAL", func(u result.Usage) string { return cores(u.StealCPU) }},
		{"LAYER/GUEST", func(u result.Usage) string { return overheadOf(u.CPUOverhead) }},
		{"MEMORY GUEST", func(u result.Usage) string { return amount(u.GuestMem, "bytes") }},
		{"LAYER", func(u result.Usage) string { return amount(u.LayerMem, "bytes") }},
	}
	var doc []block
	if accompanied(c) {
		doc = append(doc, table[result.Usage]{rows: c.Usage, columns: columns}, said{othersNote})
	} else {
		doc = append(doc, table[result.Usage]{rows: c.Usage, columns: slices.Delete(columns, 3, 4)})
	}
	return append(doc, table[result.Usage]{rows: c.Usage, columns: traffic}, table[result.Usage]{rows: c.Usage, columns: migration})
}

// traffic is what the host read and wrote, of it the guests' part.
var traffic = []column[result.Usage]{
	{"DISK AND NETWORK", result.Usage.Name},
	{"READ GUEST", func(u result.Usage) string { return amount(u.GuestDiskRead, "bytes/s") }},
	{"LAYER", func(u result.Usage) string { return amount(u.LayerDiskRead, "bytes/s") }},
	{"HOST", func(u result.Usage) string { return amount(u.DiskRead, "bytes/s") }},
	{"WRITTEN GUEST", func(u result.Usage) string { return amount(u.GuestDiskWrite, "bytes/s") }},
	{"LAYER", func(u result.Usage) string { return amount(u.LayerDiskWrite, "bytes/s") }},
	{"HOST", func(u result.Usage) string { return amount(u.DiskWrite, "bytes/s") }},
	{"RECEIVED", func(u result.Usage) string { return amount(u.NetRx, "bytes/s") }},
	{"SENT", func(u result.Usage) string { return amount(u.NetTx, "bytes/s") }},
}

// migration is what a migration would move, as in table 2 of sharma2016.
var migration = []column[result.Usage]{
	{"MIGRATION", result.Usage.Name},
	{"WOULD MOVE", func(u result.Usage) string { return amount(u.MigrationBytes, "bytes") }},
	{"OF", func(u result.Usage) string { return figure.Quantity(u.Given, "bytes") }},
}

// stackOf draws the CPU of each platform of a case as a stacked bar, all on one
// scale: what the host's own counter says, and steal beyond it.
func stackOf(c result.Case) template.HTML {
	var bars []chart.Bar
	for i := range c.Usage {
		u := &c.Usage[i]
		b := chart.Bar{Name: u.Name()}
		if !u.Unattributed.Known {
			b.Name += " (in part not measured)"
		}
		for _, p := range []struct {
			class, name string
			cores       float64
		}{
			{"guest", "guest", u.GuestCPU.Value}, {"layer", "layer", u.LayerCPU.Value}, {"others", "other instances", others(u)},
			{"rest", "rest of the host", u.OtherCPU.Value}, {"unattributed", "unattributed", u.Unattributed.Value}, {"steal", "steal", u.StealCPU.Value},
		} {
			b.Parts = append(b.Parts, chart.Part{Class: p.class, Value: p.cores, Title: fmt.Sprintf("%s, %s: %.3f cores", u.Platform, p.name, p.cores)})
		}
		bars = append(bars, b)
	}
	return chart.Bars("CPU time of each platform by level, in cores: "+c.Title, "", bars)
}
