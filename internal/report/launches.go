package report

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"tare/internal/bench"
	"tare/internal/bench/figure"
	"tare/internal/report/chart"
	"tare/internal/result"
)

// launchView is one platform's launches.
type launchView struct{ result.StartUp }

func launchesOf(c result.Case) []launchView {
	var views []launchView
	for _, u := range c.StartUp {
		views = append(views, launchView{u})
	}
	return views
}

// Cells are the phases, in the order of bench.LaunchPhases.
func (v launchView) Cells() []string {
	var cells []string
	for _, name := range bench.LaunchPhases {
		cell := "–"
		if i := slices.IndexFunc(v.Phases, func(p result.LaunchPhase) bool { return p.Name == name }); i >= 0 {
			cell = figure.Number(v.Phases[i].Median)
		}
		cells = append(cells, cell)
	}
	return cells
}

func (v launchView) Total() string { return figure.Number(v.StartUp.Total) }

// Own is Tare's own share.
func (v launchView) Own() string {
	return fmt.Sprintf("%s (%s %%)", figure.Number(v.StartUp.Own), figure.Digits(100*v.StartUp.Own/v.StartUp.Total, 2))
}

// Parts are what Tare's own share is made of.
func (v launchView) Parts() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(v.OwnParts)) {
		parts = append(parts, name+" "+figure.Number(v.OwnParts[name]))
	}
	return strings.Join(parts, ", ") + ", at worst " + figure.Number(v.OwnWorst)
}

// sourcesOf say how the ends of the phases are known, each once.
func sourcesOf(c result.Case) []string {
	var lines []string
	for _, name := range bench.LaunchPhases {
		bySource := map[string][]string{}
		for _, u := range c.StartUp {
			for _, p := range u.Phases {
				if p.Name == name {
					text := p.Source
					if p.Known > 0 {
						text += ", known to " + figure.Number(p.Known) + " ms"
					}
					bySource[text] = append(bySource[text], u.Platform)
				}
			}
		}
		for _, text := range slices.Sorted(maps.Keys(bySource)) {
			lines = append(lines, fmt.Sprintf("%s (%s): %s", name, strings.Join(bySource[text], ", "), text))
		}
	}
	return lines
}

// spread is how many times longer than its shortest the longest launch of one
// figure may be: beyond, nothing could be seen of the shortest.
const spread = 12

// waterfallsOf draws the phases of each platform's launches one after the other.
// Platforms whose launches differ too much get figures, and axes, of their own.
func waterfallsOf(c result.Case) []template.HTML {
	rows := slices.Clone(c.StartUp)
	slices.SortStableFunc(rows, func(a, b result.StartUp) int { return cmp.Compare(a.Total, b.Total) })
	var figures []template.HTML
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].Total <= spread*rows[0].Total {
			n++
		}
		figures = append(figures, waterfall(c.Title, rows[:n]))
		rows = rows[n:]
	}
	return figures
}

func waterfall(title string, rows []result.StartUp) template.HTML {
	var bars []chart.Bar
	for _, u := range rows {
		b := chart.Bar{Name: fmt.Sprintf("%s: %s ms, of it Tare itself at most %s ms", u.Name(), figure.Number(u.Total), figure.Number(u.Own)),
			Beside: &chart.Part{Class: "own", Value: u.Own, Title: fmt.Sprintf("%s, Tare itself: at most %s ms", u.Platform, figure.Number(u.Own))}}
		for _, p := range u.Phases {
			b.Parts = append(b.Parts, chart.Part{Class: phaseClass(p.Name), Value: p.Median, Title: fmt.Sprintf("%s, %s: %s ms", u.Platform, p.Name, figure.Number(p.Median))})
		}
		bars = append(bars, b)
	}
	return chart.Bars("Phases of a launch on each platform, in milliseconds: "+title, "", bars)
}

func phaseClass(name string) string { return "phase-" + strings.ReplaceAll(name, " ", "-") }

// keyOf is the legend of a waterfall.
func keyOf() []struct{ Class, Name string } {
	var keys []struct{ Class, Name string }
	for _, name := range bench.LaunchPhases {
		keys = append(keys, struct{ Class, Name string }{phaseClass(name), name})
	}
	return append(keys, struct{ Class, Name string }{"own", "Tare itself, beside them"})
}

func launchesText(c result.Case) []block {
	views := launchesOf(c)
	columns := []column[launchView]{{"LAUNCH, MEDIAN MS", launchView.Name}}
	for i, name := range bench.LaunchPhases {
		columns = append(columns, column[launchView]{strings.ToUpper(name), func(v launchView) string { return v.Cells()[i] }})
	}
	doc := []block{table[launchView]{rows: views, columns: append(columns,
		column[launchView]{"TOTAL", launchView.Total},
		column[launchView]{"TARE'S OWN", launchView.Own},
		column[launchView]{"N", func(v launchView) string { return fmt.Sprint(v.N) }})}}
	for _, v := range views {
		doc = append(doc, listed{v.Name() + ": Tare's own: " + v.Parts() + " ms"})
	}
	return append(doc, listed(sourcesOf(c)))
}
