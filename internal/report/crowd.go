package report

import (
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"tare/internal/bench"
	"tare/internal/figure"
	"tare/internal/result"
)

// crowdMeters are the heads of the columns of memory and what each counts.
var crowdMeters = []struct{ name, head, doc string }{
	{bench.CrowdPSS, "PSS", "a page shared by processes is divided among them"},
	{bench.CrowdRSS, "RSS", "a shared page counts once for each process"},
	{bench.CrowdCgroup, "cgroup", "charged to the instances' control groups, without what serves them from outside"},
	{bench.CrowdCgroupHeld, "cgroup held", "the same without the cache of files"},
	{bench.CrowdAvailable, "host available", "by how much MemAvailable falls; of the whole host"},
	{bench.CrowdUsed, "host used", "by how much memory in use grows; of the whole host"},
}

// crowdMeans says what the figures of a crowd's tables are, beside medians of the same blocks.
const crowdMeans = "Figures of the crowd are means over the blocks, with the 95 % interval of the mean: of the slopes of a line through each block's steps, and of where it stands at 0 and at the first launch. The medians of the table above are over the same blocks."

// crowdView shows a case's ramps.
type crowdView struct {
	Meters  []crowdMeter
	Memory  []crowdMemory
	Growth  []crowdGrowth
	Figures []crowdFigure
}

type crowdMeter struct{ Name, Doc string }

type crowdMemory struct {
	Name  string
	Cells []crowdCell // by meter
	At0   string
}

// crowdCell is a slope and, below it, its interval.
type crowdCell struct{ Name, Value, Interval string }

type crowdGrowth struct {
	Name, Instances, Ended, First string
	Start, CPU, Observer          crowdCell
	Merged                        string
}

// Cells are the growths in their order.
func (g crowdGrowth) Cells() []crowdCell { return []crowdCell{g.Start, g.CPU, g.Observer} }

type crowdFigure struct {
	Title  string
	Plot   template.HTML
	Legend []legendView
}

// crowdOf is nil for a case without ramps.
func crowdOf(c result.Case) *crowdView {
	if len(c.Crowd) == 0 {
		return nil
	}
	v := &crowdView{Figures: crowdFigures(c.Crowd)}
	for _, m := range crowdMeters {
		v.Meters = append(v.Meters, crowdMeter{m.head, m.doc})
	}
	for i := range c.Crowd {
		row := &c.Crowd[i]
		m := crowdMemory{Name: labelled(row.Platform, row.Label), At0: "–"}
		for _, meter := range crowdMeters {
			cell := crowdCell{meter.head, "–", ""}
			if s := memoryOf(row, meter.name); s != nil {
				cell = slopeCell(meter.head, s, 1)
				if meter.name == bench.CrowdPSS {
					m.At0 = figure.Number(s.At0)
				}
			}
			m.Cells = append(m.Cells, cell)
		}
		v.Memory = append(v.Memory, m)
		v.Growth = append(v.Growth, growthOf(row))
	}
	return v
}

func growthOf(row *result.CrowdRow) crowdGrowth {
	g := crowdGrowth{Name: labelled(row.Platform, row.Label), First: "–", Ended: endedBy(row),
		Start: crowdCell{"start, ms per instance", "–", ""}, CPU: crowdCell{"idle CPU, % of a core per instance", "–", ""},
		Observer: crowdCell{"observing, % of a core", "–", ""}}
	fewest, most := row.Ramps[0].Crowd.Instances, row.Ramps[0].Crowd.Instances
	var merged float64
	for _, r := range row.Ramps {
		fewest, most = min(fewest, r.Crowd.Instances), max(most, r.Crowd.Instances)
		if n := len(r.Crowd.Steps); n > 0 {
			merged = max(merged, r.Crowd.Steps[n-1].Merged)
		}
	}
	g.Instances = fmt.Sprint(most)
	if fewest < most {
		g.Instances = fmt.Sprintf("%d to %d", fewest, most)
	}
	if s := row.Start; s != nil {
		g.First, g.Start = figure.Number(s.At(1))+" ms", slopeCell(g.Start.Name, s, 1)
	}
	if s := row.CPU; s != nil {
		g.CPU = crowdCell{g.CPU.Name, figure.Fixed(100*s.PerInstance, 4), ""}
		if s.HasInterval() {
			g.CPU.Interval = figure.Fixed(100*s.Low, 4) + " to " + figure.Fixed(100*s.High, 4)
		}
	}
	if s := row.Observer; s != nil {
		g.Observer = crowdCell{g.Observer.Name, fmt.Sprintf("%.2f at %d", 100*s.At(most), most),
			fmt.Sprintf("%.4f each", 100*s.PerInstance)}
	}
	if merged > 0 {
		g.Merged = figure.Quantity(merged, "bytes")
	}
	return g
}

func memoryOf(row *result.CrowdRow, meter string) *result.Slope {
	if i := slices.IndexFunc(row.Memory, func(s result.Slope) bool { return s.Of == meter }); i >= 0 {
		return &row.Memory[i]
	}
	return nil
}

// slopeCell writes a slope scaled, or why there is no interval.
func slopeCell(name string, s *result.Slope, scale float64) crowdCell {
	c := crowdCell{Name: name, Value: figure.Number(scale * s.PerInstance)}
	if s.HasInterval() {
		c.Interval = fmt.Sprintf("%s to %s", figure.Number(scale*s.Low), figure.Number(scale*s.High))
	}
	return c
}

// endedBy says what ended the ramps, each limit once.
func endedBy(row *result.CrowdRow) string {
	var limits []string
	for _, r := range row.Ramps {
		if l := string(r.Crowd.Limit); !slices.Contains(limits, l) {
			limits = append(limits, l)
		}
	}
	slices.Sort(limits)
	text := ""
	for i, l := range limits {
		if i > 0 {
			text += ", "
		}
		text += l
	}
	return text
}

// crowdNotes say what ended a ramp before its count.
func crowdNotes(rows []result.CrowdRow) []note {
	var notes []note
	for i := range rows {
		for _, r := range rows[i].Ramps {
			n := note{Of: rows[i].Platform, Text: fmt.Sprintf("the ramp ended at %s: %s", figure.Count(r.Crowd.Instances, "instance"), r.Crowd.Why)}
			if r.Crowd.Limit != bench.LimitCount && !slices.Contains(notes, n) {
				notes = append(notes, n)
			}
		}
	}
	return notes
}

func crowdText(out io.Writer, c result.Case, all bool) {
	v := crowdOf(c)
	if v == nil {
		return
	}
	tables := [][]string{{bench.CrowdPSS, bench.CrowdRSS, bench.CrowdCgroup, bench.CrowdUsed}}
	if all {
		tables = append(tables, []string{bench.CrowdCgroupHeld, bench.CrowdAvailable})
	}
	for k, shown := range tables {
		var t table
		head := []string{"  MIB PER INSTANCE, MEAN"}
		for _, m := range crowdMeters {
			if slices.Contains(shown, m.name) {
				head = append(head, strings.ToUpper(m.head))
			}
		}
		if k == 0 {
			head = append(head, "PSS AT 0")
		}
		t.row(head...)
		for _, m := range v.Memory {
			cells := []string{"  " + m.Name}
			for i, cell := range m.Cells {
				if slices.Contains(shown, crowdMeters[i].name) {
					cells = append(cells, cell.text())
				}
			}
			if k == 0 {
				cells = append(cells, m.At0)
			}
			t.row(cells...)
		}
		t.write(out)
	}
	var t table
	t.row("  CROWD, MEANS", "INSTANCES", "ENDED BY", "FIRST START", "+MS PER INSTANCE", "IDLE CPU EACH, %", "OBSERVING, %")
	for _, g := range v.Growth {
		t.row("  "+g.Name, g.Instances, g.Ended, g.First, g.Start.text(), g.CPU.text(), g.Observer.Value)
	}
	t.write(out)
	paragraph(out, "  ", "  ", crowdMeans)
	for _, g := range v.Growth {
		if g.Merged != "" {
			paragraph(out, "  - ", "    ", g.Name+": samepage merging saves up to "+g.Merged+" on the whole host")
		}
	}
	for _, n := range crowdNotes(c.Crowd) {
		paragraph(out, "  - ", "    ", n.Of+": "+n.Text)
	}
}

func (c crowdCell) text() string {
	if c.Interval == "" {
		return c.Value
	}
	return c.Value + " (" + c.Interval + ")"
}
