package report

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"tare/internal/figure"
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
	Legend []legendView
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
			row := latencyRow{Name: labelled(l.Platform, l.Label), Counts: latencyCounts(l), Caution: latencyCaution(l)}
			for _, p := range l.Percentiles {
				cell := latencyCell{duration(p.Bounds), tailRatio(p)}
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

func tailRatio(p result.Percentile) string {
	if e := p.Effect; e != nil && e.HasRatio() {
		return ratio(e.Ratio) + " (" + interval(e) + ")"
	}
	return ""
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
		name := labelled(l.Platform, l.Label)
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
				say(p, "unfair: "+e.Unfair)
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
