package report

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"

	"tare/internal/bench/figure"
	"tare/internal/report/chart"
	"tare/internal/result"
)

// panelView is one quantity of one trial over time, a line for each level.
type panelView struct {
	Title  string
	Legend []chart.Key
	Plot   template.HTML
}

// quantities are the panels in the order they are shown.
var quantities = []string{"cpu", "memory", "disk", "network"}

// panelsOf draws the trial's series, a panel for each quantity, all on the same
// time axis, with the measured window shaded.
func panelsOf(s *result.Series) []panelView {
	if s == nil {
		return nil
	}
	var order []string
	byQuantity := map[string][]result.Line{}
	end := s.Window[1]
	for _, l := range s.Lines {
		if byQuantity[l.Quantity] == nil {
			order = append(order, l.Quantity)
		}
		byQuantity[l.Quantity] = append(byQuantity[l.Quantity], l)
		if n := len(l.T); n > 0 {
			end = max(end, l.T[n-1])
		}
	}
	slices.SortStableFunc(order, func(a, b string) int {
		return cmp.Compare(slices.Index(quantities, a), slices.Index(quantities, b))
	})
	var views []panelView
	for _, q := range order {
		views = append(views, panel(q, byQuantity[q], s.Window, end))
	}
	return views
}

func panel(quantity string, of []result.Line, window [2]float64, end float64) panelView {
	unit := of[0].Unit
	p := chart.Plot{Frame: chart.Narrow, What: quantity + " over time", X: chart.Seconds(end), Shaded: &chart.Shade{From: window[0], To: window[1], Title: "measured window"}}
	most := 0.0
	for i, l := range of {
		for _, y := range l.Y {
			if !math.IsNaN(y) {
				most = max(most, y)
			}
		}
		p.Lines = append(p.Lines, chart.Line{Name: string(l.Level) + ": " + l.Name, Class: fmt.Sprintf("line %s dash%d", l.Level, i%4), X: l.T, Y: l.Y})
	}
	if unit == "bytes" || unit == "bytes/s" {
		p.Y = chart.Binary(most, func(v float64) string { return figure.Quantity(v, "bytes") })
	} else {
		p.Y = chart.Linear(0, most, figure.Number)
	}
	v := panelView{Title: quantity + ", " + unit}
	v.Plot, v.Legend = p.Draw()
	return v
}
