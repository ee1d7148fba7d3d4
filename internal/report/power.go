package report

import (
	"fmt"
	"html/template"
	"io"
	"strings"

	"tare/internal/figure"
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
	Figure      template.HTML
}

func energiesOf(c result.Case, all []result.Power) []energyGroup {
	var groups []energyGroup
	for _, p := range all {
		g := energyGroup{Meter: p.Meter, Modelled: p.Modelled}
		var rows []result.Energy
		for _, e := range c.Energy {
			if e.Meter != p.Meter {
				continue
			}
			rows = append(rows, e)
			g.Rows = append(g.Rows, energyOf(e))
			if e.Unit != "" {
				g.Unit = e.Unit
			}
		}
		if len(rows) > 0 {
			g.Figure = powerStack(c.Title, rows)
			groups = append(groups, g)
		}
	}
	return groups
}

func energyOf(e result.Energy) energyView {
	v := energyView{Name: labelled(e.Platform, e.Label), Watts: "not known", Net: "–", Joules: "–", NetJoules: "–", PerUnit: "–", NetPerUnit: "–",
		Words: powerWords(e), Notes: e.Notes}
	if e.Modelled {
		v.Mark = modelledMark
	}
	if e.N > 0 {
		v.Watts = within(e.Watts, e.Bound, "W")
		v.Joules = joules(e.Joules)
	}
	if e.NetWatts != nil {
		v.Net, v.NetJoules = within(*e.NetWatts, e.NetBound, "W"), joules(*e.NetJoules)
	}
	if e.PerUnit != nil {
		v.PerUnit = joules(*e.PerUnit)
	}
	if e.NetPerUnit != nil {
		v.NetPerUnit = joules(*e.NetPerUnit)
	}
	if x := e.Effect; x != nil {
		v.Verdict = string(x.Verdict)
		if x.HasRatio() {
			v.Ratio = ratio(x.Ratio) + " (" + interval(x) + ")"
		}
		v.Detail = x.Why
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
		return "modelled: no statement"
	case x.Verdict == result.Refused:
		return "no statement"
	case x.Verdict == result.Unfair:
		return "no comparison"
	default:
		return strings.TrimSuffix(x.Words, " ["+x.Caution+"]")
	}
}

// within writes a quantity with the most it may be off by.
func within(v, bound float64, unit string) string {
	digits := 1
	if bound > 0 && bound < 0.1 {
		digits = 2
	}
	return unbroken.Replace(figure.Fixed(v, digits) + " ± " + figure.Fixed(bound, digits) + " " + unit)
}

// joules writes an energy with a prefix that suits it.
func joules(v float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1e6, "MJ"}, {1e3, "kJ"}, {1, "J"}, {1e-3, "mJ"}, {1e-6, "µJ"}} {
		if v >= u.size || -v >= u.size {
			return unbroken.Replace(number3(v/u.size) + " " + u.name)
		}
	}
	return unbroken.Replace(number3(v) + " J")
}

func number3(v float64) string {
	switch a := max(v, -v); {
	case a >= 100:
		return figure.Fixed(v, 0)
	case a >= 10:
		return figure.Fixed(v, 1)
	}
	return figure.Fixed(v, 2)
}

func energyText(out io.Writer, c result.Case, powers []result.Power) {
	for _, g := range energiesOf(c, powers) {
		head := "  POWER BY " + g.Meter
		if g.Modelled {
			head += " (MODELLED)"
		}
		perUnit := "FOR ONE " + strings.ToUpper(g.Unit)
		if g.Unit == "" {
			perUnit = "FOR ONE UNIT"
		}
		fmt.Fprintln(out, head)
		var t table
		t.row("  PLATFORM", "POWER", "ABOVE REST", "ENERGY", "ABOVE REST", perUnit, "ABOVE REST", "RATIO", "")
		for _, r := range g.Rows {
			name := r.Name
			if r.Mark != "" {
				name += " [" + r.Mark + "]"
			}
			t.row("  "+name, r.Watts, r.Net, r.Joules, r.NetJoules, r.PerUnit, r.NetPerUnit, r.Ratio, r.Words)
		}
		t.write(out)
		for _, r := range g.Rows {
			for _, n := range r.said() {
				paragraph(out, "  - ", "    ", r.Name+": "+n)
			}
		}
	}
}

// said is what is to be known of a row.
func (v energyView) said() []string {
	if v.Detail == "" || v.Mark != "" {
		return v.Notes
	}
	return append([]string{v.Detail}, v.Notes...)
}

// powerText writes what the meters told of the run as a whole.
func powerText(out io.Writer, powers []result.Power, all bool) {
	for _, p := range powersOf(powers) {
		fmt.Fprintln(out)
		paragraph(out, "", "  ", "Power by "+p.Meter+": "+p.About)
		for _, n := range p.Notes {
			paragraph(out, "  - ", "    ", n)
		}
		if len(p.Shares) > 0 {
			var t table
			t.row("  KEPT BUSY", "ADDS TO REST", "SHARE OF ALL THAT IS DRAWN", "CASE")
			for _, s := range p.Shares {
				t.row("  "+s.Resource, s.Net, s.Share, s.Case)
			}
			t.write(out)
		}
		for _, c := range p.Curves {
			paragraph(out, "  ", "  ", c.Title)
			var t table
			t.row("  LOAD", "BUSY CORES", "POWER", "OF THE HIGHEST", "OF THE HIGHEST ABOVE REST")
			for _, q := range c.Points {
				t.row("  "+q.Name, q.Cores, q.Watts, q.OfPeak, q.OfDynamic)
			}
			t.write(out)
		}
		if all && len(p.Rests) > 0 {
			var t table
			t.row("  BLOCK", "AT REST BEFORE", "AFTER", "TAKEN")
			for _, r := range p.Rests {
				t.row("  "+r.Block, r.Before, r.After, r.Taken)
			}
			t.write(out)
		}
	}
}

// powerView is a meter and what it told of the run.
type powerView struct {
	Meter, About, Mark string
	Notes              []string
	Shares             []shareView
	ShareFigure        template.HTML
	Curves             []curveView
	Rests              []restView
}

type shareView struct{ Resource, Case, Net, Share string }

type curveView struct {
	Title  string
	Points []curvePoint
	Figure template.HTML
}

type curvePoint struct{ Name, Cores, Watts, OfPeak, OfDynamic string }

type restView struct{ Block, Before, After, Taken string }

func powersOf(all []result.Power) []powerView {
	var views []powerView
	for _, p := range all {
		v := powerView{Meter: p.Meter, About: aboutPower(p), Notes: p.Notes}
		if p.Modelled {
			v.Mark = modelledMark
		}
		if f := p.Fit; f != nil {
			v.Notes = append(v.Notes[:len(v.Notes):len(v.Notes)], fmt.Sprintf(
				"a straight line through %d launches and rests: %s W at rest and %s W for each busy core, off by %s W (root mean square); on a host like this without a meter: --power %s",
				f.Points, figure.Fixed(f.Rest, 1), figure.Fixed(f.Core, 2), figure.Fixed(f.Residual, 2), f.ModelName()))
		}
		for _, s := range p.Shares {
			v.Shares = append(v.Shares, shareView{s.Resource, s.Case, within(s.Net, s.Bound, "W"), figure.Fixed(100*s.Share, 1) + " %"})
		}
		if p.Rest != nil && len(p.Shares) > 0 {
			v.ShareFigure = shareStack(*p.Rest, p.Shares)
		}
		for _, c := range p.Curves {
			w := curveView{Title: fmt.Sprintf("%s on %s: energy proportionality %s (1: in proportion to load; 0: the same at any)", c.Name, c.Platform, figure.Fixed(c.Proportionality, 2)),
				Figure: powerCurve(c)}
			for _, q := range c.Points {
				name := q.Case
				if name == "" {
					name = "at rest"
				}
				w.Points = append(w.Points, curvePoint{name, figure.Fixed(q.Cores, 3), figure.Fixed(q.Watts, 1) + " W", figure.Fixed(100*q.OfPeak, 1) + " %", figure.Fixed(100*q.OfDynamic, 1) + " %"})
			}
			v.Curves = append(v.Curves, w)
		}
		for _, r := range p.Rests {
			v.Rests = append(v.Rests, restView{fmt.Sprint(r.Block), known(r.Before), known(r.After), within(r.Watts, r.Bound, "W")})
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
		s += fmt.Sprintf("; in steps of %s", joules(p.StepJ))
	}
	if p.Update > 0 && !p.Modelled {
		s += fmt.Sprintf(", a new value every %s s", figure.Number(p.Update))
	}
	if p.Rest != nil {
		s += fmt.Sprintf("; the machine at rest: %s W, mean over %s", figure.Fixed(*p.Rest, 1), figure.Count(len(p.Rests), "block"))
	}
	return s + "."
}
