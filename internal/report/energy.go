package report

import (
	"cmp"
	"html/template"
	"strings"

	"tare/internal/bench/figure"
	"tare/internal/report/chart"
	"tare/internal/result"
)

// modelledMark stands beside every figure that is worked out, not measured.
const modelledMark = "modelled"

// energyView is what one platform drew in a case, by one meter.
type energyView struct {
	Name, Mark           string
	Watts, Net           string
	Joules, NetJoules    string
	PerUnit, NetPerUnit  string
	Ratio, Words, Detail string
	Verdict              string
	Notes                []string
}

// energyGroup is a meter's table of a case.
type energyGroup struct {
	Meter, Unit string
	Modelled    bool
	Rows        []energyView
	title       string
	of          []result.Energy
}

// Figure draws what each platform drew as a bar.
func (g energyGroup) Figure() template.HTML { return powerStack(g.title, g.of) }

func energiesOf(c result.Case, all []result.Power) []energyGroup {
	var groups []energyGroup
	for _, p := range all {
		g := energyGroup{Meter: p.Meter, Modelled: p.Modelled, title: c.Title}
		for _, e := range c.Energy {
			if e.Meter != p.Meter {
				continue
			}
			g.of = append(g.of, e)
			g.Rows = append(g.Rows, energyOf(e))
			if e.Unit != "" {
				g.Unit = e.Unit
			}
		}
		if len(g.of) > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}

func energyOf(e result.Energy) energyView {
	v := energyView{Name: e.Name(), Watts: "not known", Net: "–", Joules: "–", NetJoules: "–", PerUnit: "–", NetPerUnit: "–",
		Words: powerWords(e), Notes: e.Notes}
	if e.Modelled {
		v.Mark = modelledMark
	}
	if e.N > 0 {
		v.Watts = figure.Within(e.Watts, e.Bound, "W")
		v.Joules = figure.Joules(e.Joules)
	}
	if e.NetWatts != nil {
		v.Net, v.NetJoules = figure.Within(*e.NetWatts, e.NetBound, "W"), figure.Joules(*e.NetJoules)
	}
	if e.PerUnit != nil {
		v.PerUnit = figure.Joules(*e.PerUnit)
	}
	if e.NetPerUnit != nil {
		v.NetPerUnit = figure.Joules(*e.NetPerUnit)
	}
	if x := e.Effect; x != nil {
		v.Verdict = string(x.Verdict)
		v.Ratio, v.Detail = x.RatioWords(), x.Why
	}
	return v
}

// powerWords is equation 2 in words.
func powerWords(e result.Energy) string {
	switch x := e.Effect; {
	case e.Baseline:
		return "baseline"
	case x == nil:
		return "nothing to compare with"
	case e.Modelled:
		return "modelled: not compared"
	case x.Verdict == result.Refused:
		return "not compared"
	case x.Verdict == result.Unfair:
		return "no comparison"
	default:
		return strings.TrimSuffix(x.Words, " ["+x.Caution+"]")
	}
}

func energyText(c result.Case, powers []result.Power) []block {
	var doc []block
	for _, g := range energiesOf(c, powers) {
		head := "  POWER BY " + g.Meter
		if g.Modelled {
			head += " (MODELLED)"
		}
		doc = append(doc, lines{head}, table[energyView]{rows: g.Rows, columns: []column[energyView]{
			{"PLATFORM", func(v energyView) string {
				if v.Mark != "" {
					return v.Name + " [" + v.Mark + "]"
				}
				return v.Name
			}},
			{"POWER", func(v energyView) string { return v.Watts }},
			{"ABOVE REST", func(v energyView) string { return v.Net }},
			{"ENERGY", func(v energyView) string { return v.Joules }},
			{"ABOVE REST", func(v energyView) string { return v.NetJoules }},
			{"FOR ONE " + strings.ToUpper(cmp.Or(g.Unit, "unit")), func(v energyView) string { return v.PerUnit }},
			{"ABOVE REST", func(v energyView) string { return v.NetPerUnit }},
			{"RATIO", func(v energyView) string { return v.Ratio }},
			{"", func(v energyView) string { return v.Words }},
		}})
		for _, v := range g.Rows {
			for _, n := range v.remarks() {
				doc = append(doc, listed{v.Name + ": " + n})
			}
		}
	}
	return doc
}

// remarks are what is to be known of a row.
func (v energyView) remarks() []string {
	if v.Detail == "" || v.Mark != "" {
		return v.Notes
	}
	return append([]string{v.Detail}, v.Notes...)
}

// powerStack draws what each platform of a case drew as a bar: what the machine
// draws at rest, and what is above that.
func powerStack(title string, rows []result.Energy) template.HTML {
	var bars []chart.Bar
	for _, e := range rows {
		if e.N == 0 {
			continue
		}
		name := e.Name()
		if e.Modelled {
			name += " (" + modelledMark + ")"
		}
		b := chart.Bar{Name: name}
		if e.NetWatts == nil {
			b.Parts = []chart.Part{watts("rest", name+", all", e.Watts)}
		} else {
			net := max(0, *e.NetWatts)
			b.Parts = []chart.Part{watts("rest", name+", at rest", e.Watts-net), watts("layer", name+", above rest", net)}
		}
		bars = append(bars, b)
	}
	return chart.Bars("Power of each platform, at rest and above, in watts: "+title, "W", bars)
}
