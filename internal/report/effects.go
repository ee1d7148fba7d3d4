package report

import (
	"fmt"
	"html/template"
	"strings"

	"tare/internal/bench"
	"tare/internal/bench/figure"
	"tare/internal/report/chart"
	"tare/internal/result"
)

// metricView is a metric of a case with a row for each platform.
type metricView struct {
	Name, Unit, Better string
	Headline           bool
	Axis               template.HTML
	Rows               []rowView
	Fairness           []string // between alike subjects
	Steadiness         []string // within the windows
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
		axis := chart.NewRatios(ratios, margin)
		v := metricView{
			Name: m.Name, Unit: m.Unit, Better: better(m), Headline: m.Headline, Axis: axis.Axis(),
		}
		for _, row := range c.Rows[i:j] {
			v.Rows = append(v.Rows, viewRow(row, axis))
		}
		v.Fairness, v.Steadiness = fairnessOf(c.Rows[i:j]), steadinessOf(c.Rows[i:j])
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

func viewRow(row result.Row, axis chart.Ratios) rowView {
	v := rowView{Row: row, Name: row.Name(), Value: value(row), Word: effectWords(row), Verdict: "none"}
	v.Plot = plotRow(row, axis)
	e := row.Effect
	if row.Baseline {
		v.Detail = "its own launches around their median"
	}
	if e == nil || !e.HasRatio() {
		return v
	}
	v.Caution = e.Caution
	v.Detail = "ratio " + e.RatioWords()
	if e.Finds > 0 {
		v.Detail += "; the smallest change it finds: " + finds(e)
	}
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

// finds is the smallest change that the row finds in 90 % of runs.
func finds(e *result.Effect) string {
	if e.Finds >= 0.1 {
		return figure.Fixed(100*e.Finds, 0) + " %"
	}
	return figure.Fixed(100*e.Finds, 1) + " %"
}

// plotRow draws every block's ratio as a point and the interval as a bar.
func plotRow(row result.Row, axis chart.Ratios) template.HTML {
	var estimate *chart.Interval
	e := row.Effect
	if e != nil && e.HasRatio() {
		estimate = &chart.Interval{Low: e.Low, Mid: e.Ratio, High: e.High, Title: fmt.Sprintf("ratio %s, 95 %% interval %s", figure.Ratio(e.Ratio), e.Bounds())}
	}
	points, scale := []result.Point(nil), 1.0
	switch {
	case row.Baseline && row.Median > 0:
		points, scale = row.Points, 1/row.Median
	case e != nil:
		points = e.Ratios
	}
	var dots []chart.Dot
	for _, p := range points {
		dots = append(dots, chart.Dot{X: p.Value * scale, Title: fmt.Sprintf("block %d, trial %s: %s", p.Block, p.Trial, figure.Ratio(p.Value*scale))})
	}
	return axis.Row("ratios to the baseline of "+row.Platform+", "+row.Metric.Name, estimate, dots)
}

// better says which way a metric is better, and that the verdicts of a further one are not
// corrected for their number.
func better(m bench.Metric) string {
	text := string(m.Better) + " is better"
	if !m.Headline {
		text += ", exploratory"
	}
	return text
}

func effectsText(rows []result.Row) []block {
	bounded := func(row result.Row) bool { return row.Effect != nil && row.Effect.HasRatio() }
	return []block{table[result.Row]{rows: rows, columns: []column[result.Row]{
		{"", result.Row.Name},
		{"", value},
		{"", func(row result.Row) string { return fmt.Sprint(row.N) }},
		{"", func(row result.Row) string {
			if !bounded(row) {
				return ""
			}
			return figure.Ratio(row.Effect.Ratio)
		}},
		{"", func(row result.Row) string {
			if !bounded(row) {
				return ""
			}
			return row.Effect.Bounds()
		}},
		{"", func(row result.Row) string {
			if !bounded(row) || row.Effect.Finds == 0 {
				return ""
			}
			return finds(row.Effect)
		}},
		{"", func(row result.Row) string { // the head names the metric
			return strings.Replace(effectWords(row), strings.ReplaceAll(row.Metric.Name, "_", " ")+" ", "", 1)
		}},
	}, group: func(row result.Row) []string {
		return []string{strings.ToUpper(row.Metric.Name), "MEDIAN", "N", "RATIO", "95 % INTERVAL", "FINDS", strings.ToUpper(better(row.Metric))}
	}}}
}
