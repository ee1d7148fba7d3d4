package report

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"tare/internal/bench"
	"tare/internal/bench/figure"
	"tare/internal/report/chart"
	"tare/internal/result"
)

// densityMeters are the heads of the columns of memory and what each counts.
var densityMeters = []struct{ name, Name, Doc string }{
	{bench.DensityPSS, "PSS", "a page shared by processes is divided among them"},
	{bench.DensityRSS, "RSS", "a shared page counts once for each process"},
	{bench.DensityCgroup, "cgroup", "charged to the instances' control groups, without what serves them from outside"},
	{bench.DensityCgroupHeld, "cgroup held", "the same without the cache of files"},
	{bench.DensityAvailable, "host available", "by how much MemAvailable falls; of the whole host"},
	{bench.DensityUsed, "host used", "by how much memory in use grows; of the whole host"},
}

// densityMeans says what the figures of a ramp's tables are, beside medians of the same blocks.
const densityMeans = "Figures of the instances are means over the blocks, with the 95 % interval of the mean: of the slopes of a line through each block's steps, and of where it stands at 0 and at the first launch. The medians of the table above are over the same blocks."

// densityView shows a case's ramps.
type densityView struct{ Rows []densityRow }

// densityRow is one platform's ramps.
type densityRow struct{ result.DensityRow }

// densityCell is a slope and, below it, its interval.
type densityCell struct{ Name, Value, Interval string }

type densityFigure struct {
	Title  string
	Plot   template.HTML
	Legend []chart.Key
}

// densityOf is nil for a case without ramps.
func densityOf(c result.Case) *densityView {
	if len(c.Density) == 0 {
		return nil
	}
	v := &densityView{}
	for _, row := range c.Density {
		v.Rows = append(v.Rows, densityRow{row})
	}
	return v
}

// Memory are the slopes by meter.
func (r densityRow) Memory() []densityCell {
	var cells []densityCell
	for _, meter := range densityMeters {
		cells = append(cells, slopeCell(meter.Name, r.memory(meter.name), figure.Number))
	}
	return cells
}

func (r densityRow) memory(meter string) *result.Slope {
	if i := slices.IndexFunc(r.DensityRow.Memory, func(s result.Slope) bool { return s.Of == meter }); i >= 0 {
		return &r.DensityRow.Memory[i]
	}
	return nil
}

// At0 is PSS without any instance.
func (r densityRow) At0() string {
	if s := r.memory(bench.DensityPSS); s != nil {
		return figure.Number(s.At0)
	}
	return "–"
}

// counts are how many instances there were, in the smallest ramp and the largest.
func (r densityRow) counts() (fewest, most int) {
	count := func(a, b result.DensityRamp) int { return cmp.Compare(a.Density.Instances, b.Density.Instances) }
	return slices.MinFunc(r.Ramps, count).Density.Instances, slices.MaxFunc(r.Ramps, count).Density.Instances
}

func (r densityRow) Instances() string {
	fewest, most := r.counts()
	if fewest < most {
		return fmt.Sprintf("%d to %d", fewest, most)
	}
	return fmt.Sprint(most)
}

// First is the start-up of the first instance.
func (r densityRow) First() string {
	if s := r.DensityRow.Start; s != nil {
		return figure.Number(s.At(1)) + " ms"
	}
	return "–"
}

func (r densityRow) Start() densityCell {
	return slopeCell("start, ms per instance", r.DensityRow.Start, figure.Number)
}

func (r densityRow) CPU() densityCell {
	return slopeCell("idle CPU, % of a core per instance", r.DensityRow.CPU, func(v float64) string { return figure.Fixed(100*v, 4) })
}

func (r densityRow) Observer() densityCell {
	c := densityCell{"observing, % of a core", "–", ""}
	if s := r.DensityRow.Observer; s != nil {
		_, most := r.counts()
		c.Value, c.Interval = fmt.Sprintf("%.2f at %d", 100*s.At(most), most), fmt.Sprintf("%.4f each", 100*s.PerInstance)
	}
	return c
}

// Growth are the cells of How the number of instances grew.
func (r densityRow) Growth() []densityCell { return []densityCell{r.Start(), r.CPU(), r.Observer()} }

// Merged is what samepage merging saves at the end of a ramp, "" for nothing.
func (r densityRow) Merged() string {
	merged := 0.0
	for _, ramp := range r.Ramps {
		if n := len(ramp.Density.Steps); n > 0 {
			merged = max(merged, ramp.Density.Steps[n-1].Merged)
		}
	}
	if merged > 0 {
		return figure.Quantity(merged, "bytes")
	}
	return ""
}

// slopeCell writes a slope and its interval, if there are any.
func slopeCell(name string, s *result.Slope, number func(float64) string) densityCell {
	c := densityCell{name, "–", ""}
	if s != nil {
		c.Value = number(s.PerInstance)
		if s.HasInterval() {
			c.Interval = number(s.Low) + " to " + number(s.High)
		}
	}
	return c
}

// Ended says what ended the ramps, each limit once.
func (r densityRow) Ended() string {
	var limits []string
	for _, ramp := range r.Ramps {
		if l := string(ramp.Density.Limit); !slices.Contains(limits, l) {
			limits = append(limits, l)
		}
	}
	slices.Sort(limits)
	return strings.Join(limits, ", ")
}

// densityNotes say what ended a ramp before its count.
func densityNotes(rows []result.DensityRow) []note {
	var notes []note
	for i := range rows {
		for _, r := range rows[i].Ramps {
			n := note{Of: rows[i].Platform, Text: fmt.Sprintf("the ramp ended at %s: %s", figure.Count(r.Density.Instances, "instance"), r.Density.Why)}
			if r.Density.Limit != bench.LimitCount && !slices.Contains(notes, n) {
				notes = append(notes, n)
			}
		}
	}
	return notes
}

// densityText is the table of memory, with all set on with the further meters, and that of growth.
func densityText(c result.Case) []block {
	v := densityOf(c)
	if v == nil {
		return nil
	}
	memory := func(shown ...string) table[densityRow] {
		t := table[densityRow]{rows: v.Rows, columns: []column[densityRow]{{"MIB PER INSTANCE, MEAN", densityRow.Name}}}
		for i, meter := range densityMeters {
			if slices.Contains(shown, meter.name) {
				t.columns = append(t.columns, column[densityRow]{strings.ToUpper(meter.Name), func(r densityRow) string { return r.Memory()[i].words() }})
			}
		}
		return t
	}
	first := memory(bench.DensityPSS, bench.DensityRSS, bench.DensityCgroup, bench.DensityUsed)
	first.columns = append(first.columns, column[densityRow]{"PSS AT 0", densityRow.At0})
	doc := []block{first, memory(bench.DensityCgroupHeld, bench.DensityAvailable)}
	doc = append(doc, table[densityRow]{rows: v.Rows, columns: []column[densityRow]{
		{"INSTANCES, MEANS", densityRow.Name},
		{"INSTANCES", densityRow.Instances},
		{"ENDED BY", densityRow.Ended},
		{"FIRST START", densityRow.First},
		{"+MS PER INSTANCE", func(r densityRow) string { return r.Start().words() }},
		{"IDLE CPU EACH, %", func(r densityRow) string { return r.CPU().words() }},
		{"OBSERVING, %", func(r densityRow) string { return r.Observer().Value }},
	}}, said{densityMeans})
	for _, r := range v.Rows {
		if merged := r.Merged(); merged != "" {
			doc = append(doc, listed{r.Name() + ": samepage merging saves up to " + merged + " on the whole host"})
		}
	}
	return append(doc, noted(densityNotes(c.Density)))
}

func (c densityCell) words() string {
	if c.Interval == "" {
		return c.Value
	}
	return c.Value + " (" + c.Interval + ")"
}

// Figures are memory by PSS and by the host, and start-up, over the number of instances.
func (v densityView) Figures() []densityFigure {
	rows := v.Rows
	memory := func(meter string) []chart.Line {
		var lines []chart.Line
		for i := range rows {
			l := chart.Line{Name: rows[i].Name()}
			for _, r := range rows[i].Ramps {
				for _, s := range r.Density.Steps {
					if v, ok := s.Memory[meter]; ok {
						l.Dots = append(l.Dots, chart.Dot{X: float64(s.Instances), Y: v / float64(bench.MiB), Title: fmt.Sprintf("%s, block %d: %d instances, %s", l.Name, r.Block, s.Instances, figure.Quantity(v, "bytes"))})
					}
				}
			}
			lines = append(lines, l)
		}
		return lines
	}
	var starts []chart.Line
	for i := range rows {
		l := chart.Line{Name: rows[i].Name()}
		for _, r := range rows[i].Ramps {
			for k, ms := range r.Starts {
				l.Dots = append(l.Dots, chart.Dot{X: float64(k + 1), Y: ms, Title: fmt.Sprintf("%s, block %d: launch %d, %s ms", l.Name, r.Block, k+1, figure.Number(ms))})
			}
		}
		starts = append(starts, l)
	}
	var figures []densityFigure
	for _, f := range []struct {
		title, unit string
		lines       []chart.Line
		linear      bool // the host's difference may be negative
	}{
		{"Memory of the instances by PSS", "MiB", memory(bench.DensityPSS), false},
		{"Memory of the instances by the growth of the host's memory in use", "MiB", memory(bench.DensityUsed), true},
		{"Start-up of one more, to the end of the first command", "ms", starts, false},
	} {
		if plot, legend := drawCrowd(f.title, f.unit, f.lines, f.linear); plot != "" {
			figures = append(figures, densityFigure{f.title + ", " + f.unit + "; lines through the means of the blocks", plot, legend})
		}
	}
	return figures
}

// drawCrowd draws values upwards, on a logarithmic scale unless linear, over
// the number of instances, and a line through the means. What is not above zero
// has no place on the former.
func drawCrowd(title, unit string, of []chart.Line, linear bool) (template.HTML, []chart.Key) {
	low, high, most := math.Inf(1), math.Inf(-1), 0.0
	for i := range of {
		l := &of[i]
		if !linear {
			l.Dots = slices.DeleteFunc(l.Dots, func(d chart.Dot) bool { return d.Y <= 0 })
		}
		for _, d := range l.Dots {
			low, high, most = min(low, d.Y), max(high, d.Y), max(most, d.X)
		}
		l.X, l.Y = means(l.Dots)
	}
	if most == 0 {
		return "", nil
	}
	y, scale := chart.Linear(low, high, figure.Number), "linear"
	if !linear {
		y, scale = chart.Log(low, high, figure.Number), "logarithmic"
	}
	x := chart.Linear(0, most, figure.Number)
	x.Title = "instances; " + unit + " upwards, " + scale
	return chart.Plot{Frame: chart.Wide, What: title + ", over the number of instances, by platform", X: x, Y: y, Lines: of}.Draw()
}

// means are the mean values of dots by their place to the right, ascending.
func means(dots []chart.Dot) (xs, ys []float64) {
	sum, count := map[float64]float64{}, map[float64]float64{}
	for _, d := range dots {
		if count[d.X] == 0 {
			xs = append(xs, d.X)
		}
		sum[d.X] += d.Y
		count[d.X]++
	}
	slices.Sort(xs)
	for _, x := range xs {
		ys = append(ys, sum[x]/count[x])
	}
	return xs, ys
}
