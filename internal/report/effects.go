package report

import (
	"fmt"
	"html/template"

	"tare/internal/figure"
	"tare/internal/result"
)

// The picture beside a row: ratios to the baseline on a logarithmic axis that
// all rows of a metric share.
const (
	plotWidth  = 300.0
	plotHeight = 30.0
	plotPad    = 10.0
)

// metricView is a metric of a case with a row for each platform.
type metricView struct {
	Name, Unit, Better string
	Headline           bool
	Axis               template.HTML
	Rows               []rowView
	Fairness           []string // between alike subjects
}

// rowView is one platform's row.
type rowView struct {
	result.Row
	Name    string
	Value   string
	Plot    template.HTML
	Verdict string // class of the verdict's colour
	Word    string
	Detail  string
	Tests   string
	Caution string
}

// metricsOf groups the rows of a case by metric, in their order. The axis is
// made for what was measured for real; an emulated platform that lies beyond
// it is drawn at its edge with an arrow.
func metricsOf(c result.Case, margin float64) []metricView {
	var views []metricView
	for i := 0; i < len(c.Rows); {
		j := i
		var ratios []float64
		for ; j < len(c.Rows) && c.Rows[j].Metric.Name == c.Rows[i].Metric.Name; j++ {
			if c.Rows[j].Label == "" {
				ratios = append(ratios, ratiosOf(c.Rows[j])...)
			}
		}
		m := c.Rows[i].Metric
		s := ratioScale(ratios, margin, plotPad, plotWidth-plotPad)
		v := metricView{
			Name: m.Name, Unit: m.Unit, Better: string(m.Better) + " is better", Headline: m.Headline, Axis: axis(s),
		}
		for _, row := range c.Rows[i:j] {
			v.Rows = append(v.Rows, viewRow(row, s, margin))
		}
		v.Fairness = fairnessOf(c.Rows[i:j])
		views = append(views, v)
		i = j
	}
	return views
}

// ratiosOf is everything a row's picture must hold.
func ratiosOf(row result.Row) []float64 {
	var rs []float64
	if row.Baseline && row.Median > 0 {
		for _, p := range row.Points {
			rs = append(rs, p.Value/row.Median)
		}
	}
	if e := row.Effect; e != nil {
		for _, p := range e.Ratios {
			rs = append(rs, p.Value)
		}
		if e.HasRatio() {
			rs = append(rs, e.Low, e.High)
		}
	}
	return rs
}

func viewRow(row result.Row, s logScale, margin float64) rowView {
	v := rowView{Row: row, Name: labelled(row.Platform, row.Label), Value: value(row), Word: effectWords(row), Verdict: "none"}
	v.Plot = plotRow(row, s, margin)
	e := row.Effect
	if row.Baseline {
		v.Detail = "its own launches around their median"
	}
	if e == nil || !e.HasRatio() {
		return v
	}
	v.Caution = e.Caution
	v.Detail = fmt.Sprintf("ratio %s (%s)", ratio(e.Ratio), interval(e))
	v.Tests = testsOf(e)
	switch {
	case e.Caution != "":
	case e.Verdict == result.Equivalent:
		v.Verdict = "same"
	case e.Verdict != result.Differs:
		v.Verdict = "open"
	case e.Cost > 0:
		v.Verdict = "worse"
	default:
		v.Verdict = "better"
	}
	return v
}

// plotRow draws every block's ratio as a point, the interval as a bar and the
// estimate as a mark, over the margin of equivalence.
func plotRow(row result.Row, s logScale, margin float64) template.HTML {
	d := newDrawing(plotWidth, plotHeight, "plot", "ratios to the baseline of "+row.Platform+", "+row.Metric.Name)
	mid := plotHeight / 2
	d.rect("band", s.at(1-margin), 0, s.at(1+margin)-s.at(1-margin), plotHeight, "")
	d.line("one", s.at(1), 0, s.at(1), plotHeight)
	e := row.Effect
	if e != nil && e.HasRatio() {
		what := fmt.Sprintf("ratio %s, 95 %% interval %s", ratio(e.Ratio), interval(e))
		switch {
		case e.Ratio < s.low:
			d.text("beyond", 1, mid+5, "◂ "+figure.Number(e.Ratio)+"×")
			return d.html()
		case e.Ratio > s.high:
			d.text("beyond end", plotWidth-1, mid+5, figure.Number(e.Ratio)+"× ▸")
			return d.html()
		}
		d.rect("interval", s.at(e.Low), mid-3, s.at(e.High)-s.at(e.Low), 6, what)
		d.rect("estimate", s.at(e.Ratio)-1.5, mid-7, 3, 14, what)
	}
	points, scale := []result.Point(nil), 1.0
	switch {
	case row.Baseline && row.Median > 0:
		points, scale = row.Points, 1/row.Median
	case e != nil:
		points = e.Ratios
	}
	for _, p := range points {
		d.circle("point", s.at(p.Value*scale), mid, 2.6, fmt.Sprintf("block %d, trial %s: %s", p.Block, p.Trial, ratio(p.Value*scale)))
	}
	return d.html()
}

// axis is the scale under the rows of a metric.
func axis(s logScale) template.HTML {
	d := newDrawing(plotWidth, 18, "plot", "axis of ratios to the baseline")
	for _, t := range s.ticks(34) {
		d.line("tick", s.at(t), 0, s.at(t), 4)
		d.text("tick", s.at(t), 15, figure.Number(t)+"×")
	}
	return d.html()
}
