package report

import (
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"

	"tare/internal/bench"
	"tare/internal/figure"
	"tare/internal/result"
)

// launchView is one platform's launches.
type launchView struct {
	Name  string
	Cells []string // of the phases, in the order of bench.LaunchPhases
	Total string
	Own   string // Tare's own share
	Parts string // what that is made of
	N     int
}

func launchesOf(c result.Case) []launchView {
	var views []launchView
	for _, u := range c.StartUp {
		v := launchView{Name: labelled(u.Platform, u.Label), Total: figure.Number(u.Total), N: u.N,
			Own: fmt.Sprintf("%s (%.2g %%)", figure.Number(u.Own), 100*u.Own/u.Total)}
		for _, name := range bench.LaunchPhases {
			cell := "–"
			if i := slices.IndexFunc(u.Phases, func(p result.LaunchPhase) bool { return p.Name == name }); i >= 0 {
				cell = figure.Number(u.Phases[i].Median)
			}
			v.Cells = append(v.Cells, cell)
		}
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(u.OwnParts)) {
			parts = append(parts, name+" "+figure.Number(u.OwnParts[name]))
		}
		v.Parts = strings.Join(parts, ", ") + ", at worst " + figure.Number(u.OwnWorst)
		views = append(views, v)
	}
	return views
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
	slices.SortStableFunc(rows, func(a, b result.StartUp) int {
		switch {
		case a.Total < b.Total:
			return -1
		case a.Total > b.Total:
			return 1
		}
		return 0
	})
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
	most := 0.0
	for _, u := range rows {
		sum := 0.0
		for _, p := range u.Phases {
			sum += p.Median
		}
		most = max(most, sum)
	}
	const pitch = stackPitch + 6
	top, step := linearTop(most)
	scale := (stackWidth - 20) / top
	height := pitch*float64(len(rows)) + 22
	d := newDrawing(stackWidth, height, "stack", "Phases of a launch on each platform, in milliseconds: "+title)
	foot := height - 20
	for _, t := range ticksTo(top, step) {
		d.line("grid", 4+t*scale, 0, 4+t*scale, foot)
		d.text("axis", 4+t*scale, height-6, fmt.Sprintf("%.4g", t))
	}
	for i, u := range rows {
		y := pitch * float64(i)
		d.text("name", 4, y+13, fmt.Sprintf("%s: %s ms, of it Tare itself at most %s ms", labelled(u.Platform, u.Label), figure.Number(u.Total), figure.Number(u.Own)))
		x := 4.0
		for _, p := range u.Phases {
			d.rect(phaseClass(p.Name), x, y+18, p.Median*scale, stackBar, fmt.Sprintf("%s, %s: %s ms", u.Platform, p.Name, figure.Number(p.Median)))
			x += p.Median * scale
		}
		d.rect("own", 4, y+19+stackBar, u.Own*scale, 4, fmt.Sprintf("%s, Tare itself: at most %s ms", u.Platform, figure.Number(u.Own)))
	}
	return d.html()
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

func launchesText(out io.Writer, c result.Case, all bool) {
	if len(c.StartUp) == 0 {
		return
	}
	var t table
	head := []string{"  LAUNCH, MEDIAN MS"}
	for _, name := range bench.LaunchPhases {
		head = append(head, strings.ToUpper(name))
	}
	t.row(append(head, "TOTAL", "TARE'S OWN", "N")...)
	views := launchesOf(c)
	for _, v := range views {
		t.row(slices.Concat([]string{"  " + v.Name}, v.Cells, []string{v.Total, v.Own, fmt.Sprint(v.N)})...)
	}
	t.write(out)
	if !all {
		return
	}
	for _, v := range views {
		paragraph(out, "  - ", "    ", v.Name+": Tare's own: "+v.Parts+" ms")
	}
	for _, line := range sourcesOf(c) {
		paragraph(out, "  - ", "    ", line)
	}
}
