package report

import (
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

// sweepView is a metric over a factor.
type sweepView struct {
	Title, Metric, Better string
	Plot                  template.HTML
	Legend                []chart.Key
	Knees                 []string
	// The figures of the plot, for who cannot see it.
	Axis   string
	Levels []string
	Lines  []sweepLine
}

// sweepLine is a platform's points at the levels: "5 200 (5 100 to 5 300)".
type sweepLine struct {
	Name  string
	Cells []string
}

// points are those of the sweep's lines, at each of its levels.
func points(s *result.Sweep) (names []string, lines []sweepLine) {
	at := levels(s)
	for _, l := range at {
		names = append(names, l.Level)
	}
	for _, l := range s.Lines {
		line := sweepLine{Name: l.Name()}
		for _, level := range at {
			cell := "–"
			if i := slices.IndexFunc(l.Points, func(p result.SweepPoint) bool { return p.X == level.X }); i >= 0 {
				p := l.Points[i]
				cell = fmt.Sprintf("%s (%s to %s)", figure.Number(p.Median), figure.Number(p.Low), figure.Number(p.High))
			}
			line.Cells = append(line.Cells, cell)
		}
		lines = append(lines, line)
	}
	return names, lines
}

// mostCurves have room on the first screen.
const mostCurves = 4

// sweepViews are the curves of the metrics that answer the question, if they are few, and all others.
func sweepViews(r *result.Result) (first, others []sweepView) {
	for i := range r.Sweeps {
		s := &r.Sweeps[i]
		if v := sweepOf(s, chart.Roomy); v.Plot != "" && r.Speaks(s.Metric) && len(first) < mostCurves {
			first = append(first, v)
		} else {
			others = append(others, sweepOf(s, chart.Wide))
		}
	}
	if slices.Contains(r.Answers, bench.PowerMetric.Name) {
		for _, p := range r.Power {
			for _, c := range p.Curves {
				v := sweepView{Title: "Power over load, " + c.Name + " on " + c.Platform, Metric: p.Meter, Better: "watts", Plot: powerCurve(c)}
				if p.Modelled {
					v.Better = modelledMark
				}
				if v.Plot != "" && len(first) < mostCurves {
					first = append(first, v)
				}
			}
		}
	}
	return first, others
}

// widest is the factor between the ends of an axis of values above which it is logarithmic.
const widest = 24

// uneven is the factor between the widest and the narrowest step above which the axis of levels is
// logarithmic: those a factor apart crowd at the low end of any other, and even ones at the high end of it.
const uneven = 8

// crowded says whether the levels are so.
func crowded(levels []result.SweepPoint) bool {
	least, most := math.Inf(1), 0.0
	for i := 1; i < len(levels); i++ {
		step := math.Abs(levels[i].X - levels[i-1].X)
		least, most = min(least, step), max(most, step)
	}
	return most > uneven*least
}

// measured is a metric with its unit, which is enough where it repeats the name: "requests/s".
func measured(m bench.Metric) string {
	if m.Unit == m.Name+"/s" {
		return m.Unit
	}
	return strings.ReplaceAll(m.Name, "_", " ") + " in " + figure.Unit(m.Unit)
}

func sweepOf(s *result.Sweep, frame chart.Frame) sweepView {
	v := sweepView{Title: s.Title, Metric: measured(s.Metric), Better: string(s.Metric.Better) + " is better", Knees: knees(s)}
	if p, ok := sweepPlot(s, frame); ok {
		v.Plot, v.Legend = p.Draw()
		v.Axis = s.Axis
		v.Levels, v.Lines = points(s)
	}
	return v
}

// sweepPlot is a line per platform through the medians, with the least and the
// most of each level's launches as a bar, and the knee as a band at the foot. It
// is false where there is nothing to draw lines between.
func sweepPlot(s *result.Sweep, frame chart.Frame) (p chart.Plot, ok bool) {
	p = chart.Plot{Frame: frame, What: s.Metric.Name + " over " + s.Axis + ", by platform", Apart: true}
	p.X.Low, p.X.High = math.Inf(1), math.Inf(-1)
	low, high := math.Inf(1), math.Inf(-1)
	for _, l := range s.Lines {
		line := chart.Line{Name: l.Name()}
		for _, q := range l.Points {
			p.X.Low, p.X.High = min(p.X.Low, q.X), max(p.X.High, q.X)
			low, high = min(low, q.Low), max(high, q.High)
			line.X, line.Y = append(line.X, q.X), append(line.Y, q.Median)
			line.Dots = append(line.Dots, chart.Dot{X: q.X, Y: q.Median, Low: q.Low, High: q.High, Title: fmt.Sprintf("%s, %s %s: %s (%s to %s, %s)", l.Name(), s.Axis, q.Level,
				figure.Quantity(q.Median, s.Metric.Unit), figure.Number(q.Low), figure.Number(q.High), figure.Count(q.N, "launch"))})
		}
		if k := l.Knee; k != nil {
			line.Bend = &chart.Bend{At: k.At, Low: k.Low, High: k.High, Title: "knee of " + l.Name()}
		}
		if k := l.Peak; k != nil {
			line.Bend = &chart.Bend{At: k.At, Low: k.Low, High: k.High, Title: "peak of " + l.Name()}
		}
		p.Lines = append(p.Lines, line)
	}
	if !(p.X.Low < p.X.High) || !(high > 0) {
		return p, false
	}
	p.X.Log = p.X.Low > 0 && crowded(levels(s))
	p.X.Title, p.X.Sparse = s.Axis, true
	for _, l := range levels(s) {
		p.X.Ticks = append(p.X.Ticks, chart.Tick{At: l.X, Name: l.Level})
	}
	if low > 0 && high/low > widest {
		p.Y = chart.Log(low, high, figure.Number)
	} else {
		p.Y = chart.Linear(0, high, figure.Number)
	}
	return p, true
}

// levels are those of the line that has most of them.
func levels(s *result.Sweep) []result.SweepPoint {
	var most []result.SweepPoint
	for _, l := range s.Lines {
		if len(l.Points) > len(most) {
			most = l.Points
		}
	}
	return most
}

// knees says where the lines bend, or have their peak.
func knees(s *result.Sweep) []string {
	var all []string
	for _, l := range s.Lines {
		name := l.Name()
		switch {
		case l.Knee != nil:
			all = append(all, fmt.Sprintf("%s: knee at %.2f %s (%.2f to %.2f)", name, l.Knee.At, s.Axis, l.Knee.Low, l.Knee.High))
		case l.NoKnee != "":
			all = append(all, fmt.Sprintf("%s: no knee given: %s", name, l.NoKnee))
		}
		switch p := l.Peak; {
		case p != nil:
			said := fmt.Sprintf("%s: peak at %s %s (%s to %s, %s)", name, s.Axis, figure.Number(p.At), figure.Number(p.Low), figure.Number(p.High), figure.Count(p.N, "block"))
			if r := p.Ratio; r != nil {
				said += fmt.Sprintf(", %s of the baseline's (%s to %s)", figure.Ratio(r.At), figure.Ratio(r.Low), figure.Ratio(r.High))
			}
			all = append(all, said)
		case l.NoPeak != "":
			all = append(all, fmt.Sprintf("%s: no peak given: %s", name, l.NoPeak))
		}
		if h := l.Threshold; h != nil {
			all = append(all, fmt.Sprintf("%s: %.0f %% worse than at %s from %.2f %s on (%.2f to %.2f)", name, 100*h.Worse, l.Points[0].Level, h.At, s.Axis, h.Low, h.High))
		}
		if len(l.DNF) > 0 {
			all = append(all, fmt.Sprintf("%s: no launch finished at %s %s", name, strings.Join(l.DNF, ", "), s.Axis))
		}
	}
	return all
}

// sweepsText is a table for each sweep: platforms down, levels across.
func sweepsText(sweeps []result.Sweep) []block {
	var doc []block
	for i := range sweeps {
		s := &sweeps[i]
		columns := []column[result.SweepLine]{{strings.ToUpper(s.Axis), result.SweepLine.Name}}
		for _, at := range levels(s) {
			columns = append(columns, column[result.SweepLine]{at.Level, func(l result.SweepLine) string {
				if i := slices.IndexFunc(l.Points, func(p result.SweepPoint) bool { return p.X == at.X }); i >= 0 {
					return figure.Number(l.Points[i].Median)
				}
				return "–"
			}})
		}
		doc = append(doc, blank,
			text{"", "  ", fmt.Sprintf("%s: %s, medians, over %s (%s is better)", s.Title, measured(s.Metric), s.Axis, s.Metric.Better)},
			table[result.SweepLine]{rows: s.Lines, columns: columns}, listed(knees(s)))
	}
	return doc
}
