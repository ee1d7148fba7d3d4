package report

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"tare/internal/bench/figure"
	"tare/internal/report/chart"
	"tare/internal/result"
)

// latencyView is one histogram of a case: a table and a curve per platform.
type latencyView struct {
	Title  string
	Grid   string
	Names  []string // of the percentiles
	Ratios bool     // that any is given
	Rows   []latencyRow
	Plot   template.HTML
	Legend []chart.Key
	Notes  []note
}

type latencyRow struct {
	Name, Counts, Caution string
	Cells                 []latencyCell
}

// latencyCell is a percentile and what stands below it.
type latencyCell struct{ Value, Below string }

// byHistogram groups a case's latencies, in their order.
func byHistogram(c result.Case) [][]result.Latency {
	var groups [][]result.Latency
	for i, l := range c.Latency {
		if i == 0 || l.Histogram != c.Latency[i-1].Histogram {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], l)
	}
	return groups
}

func latenciesOf(c result.Case) []latencyView {
	var views []latencyView
	for _, group := range byHistogram(c) {
		v := latencyView{Title: latencyTitle(group[0].Histogram), Grid: gridOf(group), Names: percentileNames(group), Notes: latencyNotes(group)}
		for _, l := range group {
			row := latencyRow{Name: l.Name(), Counts: latencyCounts(l), Caution: latencyCaution(l)}
			for _, p := range l.Percentiles {
				cell := latencyCell{duration(p.Bounds), p.Effect.RatioWords()}
				v.Ratios = v.Ratios || cell.Below != ""
				if p.Bounds == nil {
					cell.Below = fmt.Sprintf("%d beyond: too few", p.Beyond)
				}
				row.Cells = append(row.Cells, cell)
			}
			if l.Max != nil {
				row.Cells = append(row.Cells, latencyCell{Value: duration(l.Max)})
			}
			for len(row.Cells) < len(v.Names)+1 {
				row.Cells = append(row.Cells, latencyCell{Value: "–"})
			}
			v.Rows = append(v.Rows, row)
		}
		v.Plot, v.Legend = latencyCurves(group)
		views = append(views, v)
	}
	return views
}

func latencyTitle(histogram string) string { return strings.ReplaceAll(histogram, "_", " ") }

func gridOf(group []result.Latency) string {
	for _, l := range group {
		if l.Grid != "" {
			return l.Grid
		}
	}
	return ""
}

func percentileNames(group []result.Latency) []string {
	for _, l := range group {
		var names []string
		for _, p := range l.Percentiles {
			names = append(names, p.Name)
		}
		if names != nil {
			return names
		}
	}
	return nil
}

func latencyCounts(l result.Latency) string {
	if l.Launches == 0 {
		return ""
	}
	return figure.Number(float64(l.Requests)) + " requests of " + figure.Count(l.Launches, "launch")
}

// duration writes the bounds of a time in the unit that suits the upper one.
func duration(b *result.Bounds) string {
	if b == nil {
		return "–"
	}
	unit, scale := "ns", 1.0
	switch {
	case b.High >= 1e9:
		unit, scale = "s", 1e9
	case b.High >= 1e6:
		unit, scale = "ms", 1e6
	case b.High >= 1e3:
		unit, scale = "us", 1e3
	}
	low, high := figure.Number(float64(b.Low)/scale), figure.Number(float64(b.High)/scale)
	if low == high {
		return low + " " + unit
	}
	return low + "–" + high + " " + unit
}

// latencyCaution is what every ratio of the row must wear.
func latencyCaution(l result.Latency) string {
	var out []string
	for _, p := range l.Percentiles {
		e := p.Effect
		if e == nil || !e.HasRatio() {
			continue
		}
		if e.Unfair != "" && !slices.Contains(out, "unfair") {
			out = append(out, "unfair")
		}
		if e.Caution != "" && !slices.Contains(out, e.Caution) {
			out = append(out, e.Caution)
		}
	}
	return strings.Join(out, "; ")
}

// latencyNotes say what is not given and why, and what a ratio must wear.
func latencyNotes(group []result.Latency) []note {
	var notes []note
	for _, l := range group {
		name := l.Name()
		if l.Why != "" {
			notes = append(notes, note{name, l.Why})
		}
		said := map[string][]string{} // percentiles by what is said of them
		var order []string
		say := func(p result.Percentile, text string) {
			if said[text] == nil {
				order = append(order, text)
			}
			said[text] = append(said[text], p.Name)
		}
		for _, p := range l.Percentiles {
			if p.Why != "" {
				say(p, "not given: "+p.Why)
			}
			switch e := p.Effect; {
			case e == nil:
			case !e.HasRatio() && e.Unfair == "":
				say(p, "no ratio: "+e.Why)
			case e.Unfair != "":
				say(p, e.UnfairWords())
			default:
				for _, text := range []string{e.Why, e.Caution} {
					if text != "" {
						say(p, "ratio: "+text)
					}
				}
			}
		}
		for _, text := range order {
			notes = append(notes, note{name, strings.Join(said[text], ", ") + " " + text})
		}
	}
	return notes
}

// latencyText is the table, the ratios and the percentiles as marks on a line.
func latencyText(c result.Case) []block {
	var doc []block
	for _, group := range byHistogram(c) {
		rows, ratios := latencyTables(group)
		doc = append(doc, rows, said{"of all requests of all launches together, known to the bins of " + gridOf(group)},
			ratios, curvesText(group), noted(latencyNotes(group)))
	}
	return doc
}

// latencyTables are the percentiles of all requests, and the ratios of single
// launches' percentiles.
func latencyTables(group []result.Latency) (all, ratios table[result.Latency]) {
	all.rows = group
	ratios.rows = slices.DeleteFunc(slices.Clone(group), func(l result.Latency) bool { return l.Baseline })
	all.columns = []column[result.Latency]{{strings.ToUpper(latencyTitle(group[0].Histogram)), result.Latency.Name}}
	ratios.columns = []column[result.Latency]{{"RATIO BY LAUNCH", result.Latency.Name}}
	for i, name := range percentileNames(group) {
		add := func(to *[]column[result.Latency], cell func(result.Percentile) string) {
			*to = append(*to, column[result.Latency]{strings.ToUpper(name), func(l result.Latency) string {
				if i >= len(l.Percentiles) {
					return "–"
				}
				return cell(l.Percentiles[i])
			}})
		}
		add(&all.columns, func(p result.Percentile) string { return duration(p.Bounds) })
		add(&ratios.columns, func(p result.Percentile) string { return cmp.Or(p.Effect.RatioWords(), "–") })
	}
	all.columns = append(all.columns,
		column[result.Latency]{"MAX", func(l result.Latency) string { return duration(l.Max) }},
		column[result.Latency]{"REQUESTS", func(l result.Latency) string {
			if l.Max == nil {
				return "–"
			}
			return figure.Number(float64(l.Requests))
		}})
	return all, ratios
}

// curvesText draws each platform's percentiles on one logarithmic line of time.
func curvesText(group []result.Latency) lines {
	const columns = 72
	marks := []rune("59nN")
	low, high, name := math.Inf(1), 0.0, 0
	for _, l := range group {
		for _, p := range l.Percentiles {
			if p.Bounds != nil {
				low, high = min(low, max(1, float64(p.Bounds.Low))), max(high, float64(p.Bounds.High))
			}
		}
		name = max(name, len([]rune(l.Name())))
	}
	if high <= low {
		return nil
	}
	var drawn lines
	for _, l := range group {
		line := []rune(strings.Repeat("·", columns))
		for i, p := range l.Percentiles {
			if p.Bounds != nil && i < len(marks) {
				at := math.Log((float64(p.Bounds.Low)+float64(p.Bounds.High))/2/low) / math.Log(high/low)
				line[int(math.Round((columns-1)*min(max(at, 0), 1)))] = marks[i]
			}
		}
		drawn = append(drawn, fmt.Sprintf("  %-*s %s", name, l.Name(), string(line)))
	}
	return append(drawn, fmt.Sprintf("  %-*s 5: p50, 9: p90, n: p99, N: p99.9; from %s to %s, equal factors equal lengths", name, "",
		duration(&result.Bounds{Low: int64(low), High: int64(low)}), duration(&result.Bounds{Low: int64(high), High: int64(high)})))
}

// latencyCurves draw shares by nines to the right, times upwards, both logarithmic.
func latencyCurves(group []result.Latency) (template.HTML, []chart.Key) {
	low, high, nines := math.Inf(1), 0.0, 2.0
	var curves []chart.Line
	for _, l := range group {
		c := chart.Line{Name: l.Name()}
		for _, p := range l.Curve {
			middle := float64(p.Low)/2 + float64(p.High)/2
			low, high = min(low, max(1, middle)), max(high, middle)
			nines = max(nines, ninesOf(p.Share))
			c.X, c.Y = append(c.X, ninesOf(p.Share)), append(c.Y, middle)
		}
		curves = append(curves, c)
	}
	if high == 0 {
		return "", nil
	}
	x := chart.Axis{High: nines, Title: "share of requests done within the time, by nines"}
	for _, t := range []chart.Tick{{At: 0, Name: "0 %"}, {At: ninesOf(0.5), Name: "50 %"}, {At: 1, Name: "90 %"}, {At: 2, Name: "99 %"},
		{At: 3, Name: "99.9 %"}, {At: 4, Name: "99.99 %"}, {At: 5, Name: "99.999 %"}, {At: 6, Name: "99.9999 %"}} {
		if t.At <= nines {
			x.Ticks = append(x.Ticks, t)
		}
	}
	y := chart.Log(low, high, func(ns float64) string { return duration(&result.Bounds{Low: int64(ns), High: int64(ns)}) })
	return chart.Plot{Frame: chart.Wide, What: "time within which a share of the requests was done, by platform", X: x, Y: y, Lines: curves}.Draw()
}

// ninesOf is 1 of 90 %, 2 of 99 %.
func ninesOf(share float64) float64 { return -math.Log10(1 - share) }
