package report

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"tare/internal/analysis/claims"
	"tare/internal/bench"
	"tare/internal/bench/figure"
	"tare/internal/report/chart"
	"tare/internal/result"
)

// figureView is a picture of one or several metrics.
type figureView struct {
	Title  string
	Axis   string // what the axis has
	Panels []panelOf
	Keys   []keyView
	Absent []string // what was not measured
	Marks  bool     // published marks are in it
}

// panelOf is one of the pictures of a figure.
type panelOf struct {
	Title string
	Plot  template.HTML
}

// keyView is a platform in a legend.
type keyView struct{ Class, Name string }

// palette is how many colours platforms have.
const palette = 7

// coloursOf gives each platform of the document a class, the same all over the page, and another than
// those that it is first drawn with.
func coloursOf(d *claims.Document) map[string]string {
	classes := map[string]string{}
	for _, p := range d.Papers {
		for _, e := range p.Exhibits {
			for _, plot := range e.Plots {
				taken := map[string]bool{}
				for _, s := range plot.Series {
					taken[classes[s.Platform]] = true
				}
				for _, s := range plot.Series {
					if classes[s.Platform] == "" {
						classes[s.Platform] = freeColour(len(classes), taken)
						taken[classes[s.Platform]] = true
					}
				}
			}
		}
	}
	return classes
}

// freeColour is the first class from the nth on that is not taken; the nth if all are.
func freeColour(n int, taken map[string]bool) string {
	class := func(i int) string { return fmt.Sprintf("p%d", (n+i)%palette) }
	for i := range palette {
		if !taken[class(i)] {
			return class(i)
		}
	}
	return class(0) + " again"
}

// figuresOf draws an exhibit: curves over their factor, and all else as bars, what has one axis together.
func figuresOf(e *claims.Exhibit, colours map[string]string) []figureView {
	var all []figureView
	var bars [][]*claims.Plot
	for i := range e.Plots {
		p := &e.Plots[i]
		if p.Factor != "" {
			if v := curvesOf(p, colours); len(v.Panels) > 0 {
				all = append(all, v)
			}
			continue
		}
		k := slices.IndexFunc(bars, func(other []*claims.Plot) bool { return oneAxis(other[0], p) })
		if k < 0 {
			bars = append(bars, []*claims.Plot{p})
		} else {
			bars[k] = append(bars[k], p)
		}
	}
	for _, plots := range bars {
		if v := barsOf(plots, colours); len(v.Panels) > 0 {
			all = append(all, v)
		}
	}
	return all
}

// oneAxis says whether two metrics can be drawn over one axis.
func oneAxis(a, b *claims.Plot) bool {
	return a.To == b.To && (a.Against == "") == (b.Against == "") && a.Metric.Better == b.Metric.Better && (relative(a) || a.Metric.Unit == b.Metric.Unit)
}

// relative says whether values are ratios.
func relative(p *claims.Plot) bool { return p.To != "" || p.Against != "" }

// axisWords say what an axis has.
func axisWords(p *claims.Plot) string {
	text := "ratio to " + p.To
	switch {
	case p.Against != "":
		text = "ratio to the platform's own in \"" + p.Against + "\""
	case p.To == "":
		text = cmp.Or(figure.Unit(p.Metric.Unit), metricWords(p.Metric.Name))
	}
	if p.Metric.Better != "" {
		text += ", " + string(p.Metric.Better) + " is better"
	}
	return text
}

// labelClass is of platforms that wear a label, such as emulated ones.
func labelClass(s *claims.Series, colours map[string]string) string {
	if s.Label != "" {
		return colours[s.Platform] + " labelled"
	}
	return colours[s.Platform]
}

// pointWords tell of a point for the pointer.
func pointWords(p *claims.Plot, s *claims.Series, q *claims.Point) string {
	return fmt.Sprintf("%s, %s, %s: %s, %s", result.Labelled(s.Platform, s.Label), caseTitle(q), metricWords(p.Metric.Name), pointValue(p, q), figure.Count(q.N, "block"))
}

func caseTitle(q *claims.Point) string { return cmp.Or(q.Title, q.Case) }

// metricWords are a metric's name for people.
func metricWords(name string) string { return strings.ReplaceAll(name, "_", " ") }

// pointValue is a point with its interval and, of a value in a unit, the unit.
func pointValue(p *claims.Plot, q *claims.Point) string {
	part := claims.Part{Q: q.Value, Low: q.Low, High: q.High, N: q.N}
	if !relative(p) {
		part.Unit = p.Metric.Unit
	}
	return quantity(&part)
}

// marksOf are a point's published numbers in the terms of the axis.
func marksOf(s *claims.Series, q *claims.Point) (marks []chart.Mark) {
	for _, x := range q.Published {
		marks = append(marks, chart.Mark{At: x.Value, Title: fmt.Sprintf("published for %s, %s: %s", s.Platform, caseTitle(q), publishedWords(x))})
	}
	return marks
}

// barsOf draws metrics that share an axis: groups are cases, or metrics where there is one case.
func barsOf(plots []*claims.Plot, colours map[string]string) figureView {
	v := figureView{Axis: axisWords(plots[0])}
	var groups []chart.Group
	var values, ends []float64
	var names []string
	for _, p := range plots {
		if name := metricWords(p.Metric.Name); !slices.Contains(names, name) {
			names = append(names, name)
		}
		at := map[string]int{}
		for i := range p.Series {
			s := &p.Series[i]
			for k := range s.Points {
				q := &s.Points[k]
				row := chart.GroupRow{Name: result.Labelled(s.Platform, s.Label), Class: labelClass(s, colours), Marks: marksOf(s, q)}
				if q.N > 0 {
					row.Bar = &chart.Interval{Low: q.Low, Mid: q.Value, High: q.High, Title: pointWords(p, s, q)}
				}
				if q.Base || row.Bar == nil && row.Marks == nil {
					continue
				}
				v.draws(s, &row, colours)
				if s.Label == "" { // what is emulated sets no scale
					values, ends = appendValues(values, ends, q)
				}
				g, ok := at[q.Case]
				if !ok {
					g = len(groups)
					at[q.Case] = g
					groups = append(groups, chart.Group{Name: groupName(plots, p, q)})
				}
				groups[g].Rows = append(groups[g].Rows, row)
			}
		}
	}
	v.Absent = absent(plots)
	if len(groups) == 0 {
		return v
	}
	v.Title = someOf(names)
	scale := scaleOf(plots[0], values, ends)
	for _, picture := range chart.Grouped(v.Title+": "+v.Axis, scale, groups) {
		v.Panels = append(v.Panels, panelOf{Plot: picture})
	}
	return v
}

// draws notes that a platform is drawn.
func (v *figureView) draws(s *claims.Series, row *chart.GroupRow, colours map[string]string) {
	v.Marks = v.Marks || len(row.Marks) > 0
	key := keyView{labelClass(s, colours), seriesName(s)}
	if !slices.Contains(v.Keys, key) {
		v.Keys = append(v.Keys, key)
	}
}

// absent are the platforms that were measured in none of the plots, with the reason.
func absent(plots []*claims.Plot) []string {
	var all, names []string
	for _, p := range plots {
		for i := range p.Series {
			s := &p.Series[i]
			if slices.Contains(names, s.Platform) || slices.ContainsFunc(plots, func(o *claims.Plot) bool { return measuredOn(o, s.Platform) }) {
				continue
			}
			text := s.Platform
			if s.Why != "" && s.Why != "not measured" {
				text += " (" + s.Why + ")"
			}
			all, names = append(all, text), append(names, s.Platform)
		}
	}
	return all
}

func measuredOn(p *claims.Plot, platform string) bool {
	return slices.ContainsFunc(p.Series, func(s claims.Series) bool { return s.Platform == platform && measuredIn(&s) })
}

// groupName is a case's, a metric's, or both.
func groupName(plots []*claims.Plot, p *claims.Plot, q *claims.Point) string {
	switch {
	case !slices.ContainsFunc(plots, func(o *claims.Plot) bool { return o.Metric.Name != p.Metric.Name }):
		return caseTitle(q)
	case !slices.ContainsFunc(p.Series, func(s claims.Series) bool { return len(s.Points) > 1 }):
		return metricWords(p.Metric.Name)
	}
	return caseTitle(q) + ", " + metricWords(p.Metric.Name)
}

// someOf are words in a list, at most a few of them.
func someOf(words []string) string {
	const most = 4
	if len(words) > most {
		return strings.Join(words[:most], ", ") + ", …"
	}
	return strings.Join(words, ", ")
}

// appendValues appends what an axis has to show of a point: values, and the ends of intervals.
func appendValues(values, ends []float64, q *claims.Point) ([]float64, []float64) {
	if q.N > 0 {
		values, ends = append(values, q.Value), append(ends, q.Low, q.High)
	}
	for _, x := range q.Published {
		values = append(values, x.Value)
	}
	return values, ends
}

// scaleOf is the axis of values: around 1 of ratios.
func scaleOf(p *claims.Plot, values, ends []float64) chart.Scale {
	if relative(p) {
		return chart.NewRatioScale(values, ends)
	}
	return chart.NewScale(values, ends)
}

// curvesOf draws a metric over its factor, a picture for each line that the paper draws.
func curvesOf(p *claims.Plot, colours map[string]string) figureView {
	v := figureView{Title: metricWords(p.Metric.Name), Axis: axisWords(p)}
	var lines []string
	var values, ends []float64
	levels := map[float64]string{}
	for _, s := range p.Series {
		for i := range s.Points {
			q := &s.Points[i]
			if q.N == 0 && len(q.Published) == 0 {
				continue
			}
			if !slices.Contains(lines, q.Line) {
				lines = append(lines, q.Line)
			}
			levels[q.X] = cmp.Or(q.Level, numberOf(q.X))
			if !q.Base && s.Label == "" {
				values, ends = appendValues(values, ends, q)
			}
		}
	}
	scale := scaleOf(p, values, ends)
	x := levelAxis(levels)
	x.Title = bench.FactorWords(p.Factor)
	for _, line := range lines {
		plot := chart.Plot{Frame: chart.Panel, What: strings.TrimPrefix(line+": ", ": ") + v.Title + ", " + v.Axis + ", over " + x.Title, X: x, Scale: &scale, Apart: true}
		for i := range p.Series {
			s := &p.Series[i]
			l := chart.Line{Colour: labelClass(s, colours)}
			points := slices.Clone(s.Points)
			slices.SortStableFunc(points, func(a, b claims.Point) int { return cmp.Compare(a.X, b.X) })
			for k := range points {
				q := &points[k]
				if q.Line != line || q.Base {
					continue
				}
				if q.N > 0 {
					l.X, l.Y = append(l.X, q.X), append(l.Y, q.Value)
					l.Dots = append(l.Dots, chart.Dot{X: q.X, Y: q.Value, Low: q.Low, High: q.High, Title: pointWords(p, s, q)})
				}
				for _, m := range marksOf(s, q) {
					l.Marks = append(l.Marks, chart.Dot{X: q.X, Y: m.At, Title: m.Title})
				}
			}
			if len(l.Dots)+len(l.Marks) > 0 {
				v.draws(s, &chart.GroupRow{Marks: make([]chart.Mark, len(l.Marks))}, colours)
			}
			plot.Lines = append(plot.Lines, l)
		}
		if picture, _ := plot.Draw(); picture != "" {
			panel := panelOf{Plot: picture}
			if len(lines) > 1 {
				panel.Title = line
			}
			v.Panels = append(v.Panels, panel)
		}
	}
	v.Absent = absent([]*claims.Plot{p})
	return v
}

// levelAxis has the factor's levels, logarithmic where they are geometric.
func levelAxis(levels map[float64]string) chart.Axis {
	x := chart.Axis{Sparse: true}
	for at, name := range levels {
		x.Ticks = append(x.Ticks, chart.Tick{At: at, Name: name})
	}
	slices.SortFunc(x.Ticks, func(a, b chart.Tick) int { return cmp.Compare(a.At, b.At) })
	n := len(x.Ticks)
	if n == 0 {
		return chart.Linear(0, 1, numberOf)
	}
	x.Low, x.High = x.Ticks[0].At, x.Ticks[n-1].At
	least, most := math.Inf(1), 0.0 // steps
	for i := 1; i < n; i++ {
		step := x.Ticks[i].At - x.Ticks[i-1].At
		least, most = min(least, step), max(most, step)
	}
	x.Log = x.Low > 0 && (most > 3*least || x.High/x.Low > widest)
	if x.Low == x.High {
		x.Log = false
		x.Low, x.High = x.Low-1, x.High+1
	}
	return x
}

// numbersView is a plot's numbers as a table.
type numbersView struct {
	Title, Axis string
	Platforms   []string
	Rows        []numbersRow
	Grey        bool // something in it is not compared
}

type numbersRow struct {
	Name  string
	Cells []numbersCell
}

// numbersCell is what was measured, and what was published: ratios, and numbers of other machines.
type numbersCell struct {
	Of, Value string
	Published []string
	Absolute  []string // here and there, which are not compared
}

// numbersOf are an exhibit's tables, one for each metric.
func numbersOf(e *claims.Exhibit) []numbersView {
	var all []numbersView
	for i := range e.Plots {
		p := &e.Plots[i]
		v := numbersView{Title: metricWords(p.Metric.Name), Axis: axisWords(p)}
		at := map[string]int{}
		for k := range p.Series {
			s := &p.Series[k]
			v.Platforms = append(v.Platforms, result.Labelled(s.Platform, s.Label))
			for m := range s.Points {
				q := &s.Points[m]
				r, ok := at[q.Case]
				if !ok {
					r = len(v.Rows)
					at[q.Case] = r
					v.Rows = append(v.Rows, numbersRow{Name: caseTitle(q), Cells: make([]numbersCell, len(p.Series))})
				}
				c := numbersCellOf(p, s, q)
				v.Rows[r].Cells[k], v.Grey = c, v.Grey || len(c.Absolute) > 0
			}
		}
		for r := range v.Rows {
			for k := range v.Rows[r].Cells {
				v.Rows[r].Cells[k].Of = v.Platforms[k]
			}
		}
		all = append(all, v)
	}
	return all
}

func numbersCellOf(p *claims.Plot, s *claims.Series, q *claims.Point) numbersCell {
	c := numbersCell{Value: "–"}
	switch {
	case q.N > 0 && q.Base:
		c.Value = "1"
	case q.N > 0:
		c.Value = pointValue(p, q)
	}
	for _, x := range q.Published {
		c.Published = append(c.Published, publishedWords(x))
	}
	if q.Here > 0 {
		here := claims.Part{Q: q.Here, Unit: p.Metric.Unit}
		c.Absolute = append(c.Absolute, "here "+quantity(&here))
	}
	for _, x := range q.Absolute {
		words := "paper " + publishedWords(x)
		if x.To != "" {
			words += " of " + x.To
		}
		if x.Against != "" {
			words += " of its own in " + x.Against
		}
		c.Absolute = append(c.Absolute, words)
	}
	return c
}
