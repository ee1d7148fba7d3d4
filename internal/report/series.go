package report

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"

	"tare/internal/figure"
	"tare/internal/result"
)

// panelView is one quantity of one trial over time, a line for each level.
type panelView struct {
	Title  string
	Legend []legendView
	Plot   template.HTML
}

type legendView struct {
	Key  template.HTML
	Name string
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
	lines := map[string][]result.Line{}
	end := s.Window[1]
	for _, l := range s.Lines {
		if lines[l.Quantity] == nil {
			order = append(order, l.Quantity)
		}
		lines[l.Quantity] = append(lines[l.Quantity], l)
		if n := len(l.T); n > 0 {
			end = max(end, l.T[n-1])
		}
	}
	slices.SortStableFunc(order, func(a, b string) int {
		return cmp.Compare(slices.Index(quantities, a), slices.Index(quantities, b))
	})
	var views []panelView
	for _, q := range order {
		views = append(views, panel(q, lines[q], s.Window, end))
	}
	return views
}

func panel(quantityName string, lines []result.Line, window [2]float64, end float64) panelView {
	const width, height, left, right, top, bottom = 360.0, 170.0, 58.0, 8.0, 8.0, 24.0
	unit := lines[0].Unit
	most := 0.0
	for _, l := range lines {
		for _, y := range l.Y {
			if !math.IsNaN(y) {
				most = max(most, y)
			}
		}
	}
	high, step := linearTop(most)
	if unit == "bytes" || unit == "bytes/s" {
		high, step = binaryTop(most)
	}
	if end <= 0 {
		end = 1
	}
	x := func(t float64) float64 { return left + t/end*(width-left-right) }
	y := func(v float64) float64 { return height - bottom - v/high*(height-top-bottom) }

	d := newDrawing(width, height, "series", quantityName+" over time")
	d.rect("window", x(window[0]), top, x(window[1])-x(window[0]), height-top-bottom, "measured window")
	for _, v := range ticksTo(high, step) {
		d.line("grid", left, y(v), width-right, y(v))
		d.text("ylabel", left-5, y(v)+4, axisNumber(v, unit))
	}
	_, tstep := linearTop(end)
	tstep = max(1, math.Round(tstep))
	for _, t := range ticksTo(end, tstep) {
		d.line("tick", x(t), height-bottom, x(t), height-bottom+4)
		d.text("xlabel", x(t), height-8, fmt.Sprintf("%.0f s", t))
	}
	v := panelView{Title: quantityName + ", " + unit}
	for i, l := range lines {
		xs, ys := make([]float64, len(l.T)), make([]float64, len(l.T))
		for j := range l.T {
			xs[j], ys[j] = x(l.T[j]), y(l.Y[j])
		}
		class := fmt.Sprintf("line %s dash%d", l.Level, i%4)
		d.polyline(class, xs, ys)
		key := newDrawing(26, 8, "series key-line", string(l.Level))
		key.polyline(class, []float64{0, 26}, []float64{4, 4})
		v.Legend = append(v.Legend, legendView{key.html(), string(l.Level) + ": " + l.Name})
	}
	v.Plot = d.html()
	return v
}

// binaryTop is linearTop in whole steps of a binary unit.
func binaryTop(v float64) (top, step float64) {
	unit := 1.0
	for v/unit >= 1024 {
		unit *= 1024
	}
	top, step = linearTop(v / unit)
	return top * unit, step * unit
}

func axisNumber(v float64, unit string) string {
	if unit == "bytes" || unit == "bytes/s" {
		return figure.Quantity(v, "bytes")
	}
	return figure.Number(v)
}
