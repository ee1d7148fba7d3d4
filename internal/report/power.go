package report

import (
	"fmt"
	"html/template"

	"tare/internal/bench/figure"
	"tare/internal/report/chart"
	"tare/internal/result"
)

// powerText is what the meters told of the run as a whole.
func powerText(powers []result.Power) []block {
	var doc []block
	for _, p := range powersOf(powers) {
		doc = append(doc, blank, text{"", "  ", "Power by " + p.Meter + ": " + p.About}, listed(p.Notes), table[shareView]{rows: p.Shares, columns: []column[shareView]{
			{"KEPT BUSY", func(s shareView) string { return s.Resource }},
			{"ADDS TO REST", func(s shareView) string { return s.Net }},
			{"SHARE OF ALL THAT IS DRAWN", func(s shareView) string { return s.Share }},
			{"CASE", func(s shareView) string { return s.Case }},
		}})
		for _, c := range p.Curves {
			doc = append(doc, said{c.Title}, table[curvePoint]{rows: c.Points, columns: []column[curvePoint]{
				{"LOAD", func(q curvePoint) string { return q.Name }},
				{"BUSY CORES", func(q curvePoint) string { return q.Cores }},
				{"POWER", func(q curvePoint) string { return q.Watts }},
				{"OF THE HIGHEST", func(q curvePoint) string { return q.OfPeak }},
				{"OF THE HIGHEST ABOVE REST", func(q curvePoint) string { return q.OfDynamic }},
			}})
		}
		doc = append(doc, table[idleView]{rows: p.Idles, columns: []column[idleView]{
			{"BLOCK", func(v idleView) string { return v.Block }},
			{"AT REST BEFORE", func(v idleView) string { return v.Before }},
			{"AFTER", func(v idleView) string { return v.After }},
			{"TAKEN", func(v idleView) string { return v.Taken }},
		}})
	}
	return doc
}

// powerView is a meter and what it told of the run.
type powerView struct {
	Meter, About, Mark string
	Notes              []string
	Shares             []shareView
	Curves             []curveView
	Idles              []idleView
	of                 result.Power
}

// ShareFigure draws what each resource adds, where the machine's power at rest is known.
func (v powerView) ShareFigure() template.HTML {
	if v.of.Idle == nil || len(v.of.Shares) == 0 {
		return ""
	}
	return shareStack(*v.of.Idle, v.of.Shares)
}

type shareView struct{ Resource, Case, Net, Share string }

type curveView struct {
	Title  string
	Points []curvePoint
	of     result.PowerCurve
}

// Figure draws power over the host's busy cores.
func (v curveView) Figure() template.HTML { return powerCurve(v.of) }

type curvePoint struct{ Name, Cores, Watts, OfPeak, OfDynamic string }

type idleView struct{ Block, Before, After, Taken string }

func powersOf(all []result.Power) []powerView {
	var views []powerView
	for _, p := range all {
		v := powerView{Meter: p.Meter, About: aboutPower(p), Notes: p.Notes, of: p}
		if p.Modelled {
			v.Mark = modelledMark
		}
		if f := p.Fit; f != nil {
			v.Notes = append(v.Notes[:len(v.Notes):len(v.Notes)], fmt.Sprintf(
				"a straight line through %d launches and rests: %s W at rest and %s W for each busy core, off by %s W (root mean square); on a host like this without a meter: --power %s",
				f.Points, figure.Fixed(f.Idle, 1), figure.Fixed(f.Core, 2), figure.Fixed(f.Residual, 2), f.ModelName()))
		}
		for _, s := range p.Shares {
			v.Shares = append(v.Shares, shareView{s.Resource, s.Case, figure.Within(s.Net, s.Bound, "W"), figure.Fixed(100*s.Share, 1) + " %"})
		}
		for _, c := range p.Curves {
			w := curveView{Title: fmt.Sprintf("%s on %s: energy proportionality %s (1: in proportion to load; 0: the same at any)", c.Name, c.Platform, figure.Fixed(c.Proportionality, 2)), of: c}
			for _, q := range c.Points {
				name := q.Case
				if name == "" {
					name = "at rest"
				}
				w.Points = append(w.Points, curvePoint{name, figure.Fixed(q.Cores, 3), figure.Fixed(q.Watts, 1) + " W", figure.Fixed(100*q.OfPeak, 1) + " %", figure.Fixed(100*q.OfDynamic, 1) + " %"})
			}
			v.Curves = append(v.Curves, w)
		}
		for _, r := range p.Idles {
			v.Idles = append(v.Idles, idleView{fmt.Sprint(r.Block), known(r.Before), known(r.After), figure.Within(r.Watts, r.Bound, "W")})
		}
		views = append(views, v)
	}
	return views
}

func known(w *float64) string {
	if w == nil {
		return "not known"
	}
	return figure.Fixed(*w, 2) + " W"
}

// aboutPower says what a meter measures and how well.
func aboutPower(p result.Power) string {
	s := p.Of
	if p.Modelled {
		s = "MODELLED, not measured: " + s + "; its figures are in no verdict"
	}
	if p.StepW > 0 {
		s += fmt.Sprintf("; in steps of %s W", figure.Number(p.StepW))
	}
	if p.StepJ > 0 && !p.Modelled {
		s += fmt.Sprintf("; in steps of %s", figure.Joules(p.StepJ))
	}
	if p.Update > 0 && !p.Modelled {
		s += fmt.Sprintf(", a new value every %s s", figure.Number(p.Update))
	}
	if p.Idle != nil {
		s += fmt.Sprintf("; the machine at rest: %s W, mean over %s", figure.Fixed(*p.Idle, 1), figure.Count(len(p.Idles), "block"))
	}
	return s + "."
}

// shareStack draws what each resource adds when it is kept busy, as figure 16
// of tesfatsion2018 has it over time.
func shareStack(rest float64, shares []result.PowerShare) template.HTML {
	bars := []chart.Bar{{Name: "at rest", Parts: []chart.Part{watts("rest", "at rest, at rest", rest)}}}
	class := map[string]string{"cpu": "guest", "memory": "others", "disk": "layer", "network": "steal"}
	for _, s := range shares {
		name := s.Resource + " kept busy"
		bars = append(bars, chart.Bar{Name: name, Parts: []chart.Part{watts("rest", name+", at rest", rest), watts(class[s.Resource], name+", "+s.Resource, max(0, s.Net))}})
	}
	return chart.Bars("Power with each resource kept busy, in watts", "W", bars)
}

// watts is a part of a bar of power.
func watts(class, what string, v float64) chart.Part {
	return chart.Part{Class: class, Value: v, Title: fmt.Sprintf("%s: %.1f W", what, v)}
}

// powerCurve draws power over the host's busy cores, with the line of a machine
// whose power is in proportion to load.
func powerCurve(c result.PowerCurve) template.HTML {
	line, proportional := chart.Line{Class: "line c1"}, chart.Line{Class: "line dash1"}
	cores, most := 0.0, 0.0
	for _, p := range c.Points {
		cores, most = max(cores, p.Cores), max(most, p.Watts)
		line.X, line.Y = append(line.X, p.Cores), append(line.Y, p.Watts)
		line.Dots = append(line.Dots, chart.Dot{X: p.Cores, Y: p.Watts, Title: fmt.Sprintf("%.3f cores: %.1f W", p.Cores, p.Watts)})
	}
	if cores <= 0 || most <= 0 {
		return ""
	}
	proportional.X, proportional.Y = []float64{0, cores}, []float64{0, most}
	x := chart.Linear(0, cores, figure.Number)
	x.Title = "busy cores of the host; dashed: in proportion to load"
	plot, _ := chart.Plot{Frame: chart.Middle, What: "Power over busy cores: " + c.Name + " on " + c.Platform, DotClass: "guest",
		X: x, Y: chart.Linear(0, most, func(v float64) string { return figure.Number(v) + " W" }), Lines: []chart.Line{proportional, line}}.Draw()
	return plot
}
