package report

import (
	"cmp"
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

// overview is the page's first screen: sentences, one picture of everything, cautions.
type overview struct {
	Sentences []sentence
	Against   string
	Decided   string
	Works     []overviewWork // the columns; platforms in a turned table
	Rows      []overviewRow
	Note      string
	Cautions  []caution
	axis      chart.Speeds
}

// sentence is one with the platform or work it is about.
type sentence struct{ About, Words string }

type overviewWork struct {
	Name, ID string // the case's anchor; "" for a platform
	Baseline string // its value: "native 3.97 ms"; "" where there is only a ratio
	Axis     template.HTML
	of       chart.Measure
}

// overviewRow is of a platform, or, in a turned table, of a kind of work.
type overviewRow struct {
	Name, ID, Baseline string
	Cells              []overviewCell
}

const (
	// mostColumns of kinds of work have room beside each other on a page.
	mostColumns = 8
	// columnRoom and nameRoom are what a column, and the rows' names, need at the least, in pixels.
	columnRoom, nameRoom = 105, 130
)

// Width is what the table needs at the least, in pixels.
func (v overview) Width() int { return nameRoom + columnRoom*len(v.Works) }

// Most is beyond what it gains nothing by being wider, in pixels.
func (v overview) Most() int { return 3*nameRoom + 2*columnRoom*len(v.Works) }

// turn makes each kind of work a row where they are too many for columns and the platforms are not.
func (v *overview) turn() {
	if len(v.Works) <= mostColumns || len(v.Rows) >= len(v.Works) {
		return
	}
	var platforms []overviewWork
	rows := make([]overviewRow, len(v.Works))
	for i, w := range v.Works {
		rows[i] = overviewRow{Name: w.Name, ID: w.ID, Baseline: w.Baseline}
	}
	for _, r := range v.Rows {
		p := overviewWork{Name: r.Name}
		for i, c := range r.Cells {
			c.Of = r.Name
			rows[i].Cells = append(rows[i].Cells, c)
			switch w := v.Works[i]; {
			case w.Axis == "":
			case p.Axis == "" || p.of == w.of:
				p.Axis, p.of = w.Axis, w.of
			default: // of both measures
				p.Axis, p.of = v.axis.Axis(chart.Times), chart.Times
			}
		}
		platforms = append(platforms, p)
	}
	v.Works, v.Rows = platforms, rows
}

// overviewCell is a cell of the picture; one without Words has no figure.
type overviewCell struct {
	Of                       string // its column, where columns have no heads
	ID, Class, Words, Bounds string
	Plot                     template.HTML
}

// caution is one in a line, with all of it if that is longer.
type caution struct{ Short, Full string }

// cautionWidth is how long a caution may be before the rest of it is folded away.
const cautionWidth = 130

func overviewOf(r *result.Result, ids map[string]string) overview {
	s := r.Summary
	if s == nil {
		s = &result.Summary{}
	}
	v := overview{Against: againstWords(r), Decided: decidedWords(r)}
	for _, words := range s.Sentences {
		about, rest, found := strings.Cut(words, ": ")
		if !found {
			about, rest = "", words
		}
		v.Sentences = append(v.Sentences, sentence{about, strings.ReplaceAll(rest, " %", "\u00a0%")})
	}
	for _, words := range s.Cautions {
		c := caution{Short: cut(words, cautionWidth)}
		if strings.HasSuffix(c.Short, "…") {
			c.Full = words
		}
		v.Cautions = append(v.Cautions, c)
	}
	v.picture(s.Costs, r.Margin, ids)
	if len(v.Works) > 0 {
		v.baselines(r)
		v.turn()
	}
	return v
}

// baselines puts the baseline's values to the kinds of work.
func (v *overview) baselines(r *result.Result) {
	values := baselines(r)
	for i, w := range v.Works {
		if value := values[w.Name]; value != "" {
			v.Works[i].Baseline = r.Baseline + " " + value
		}
	}
	for i := range v.Rows {
		for j, w := range v.Works {
			v.Rows[i].Cells[j].Of = strings.TrimSuffix(w.Name+", "+w.Baseline, ", ")
		}
	}
}

// picture fills in the table of costs. What platforms keep beside others is drawn by [heatMap].
func (v *overview) picture(costs []result.Cost, margin float64, ids map[string]string) {
	costs = slices.DeleteFunc(slices.Clone(costs), func(c result.Cost) bool { return c.Kept })
	if len(costs) == 0 {
		return
	}
	var speeds []float64
	most := map[string]float64{}
	weight := map[string]float64{} // by platform, what all of it costs in logarithms
	emulated := map[string]bool{}  // by platform
	var names []string
	for _, c := range costs {
		emulated[c.Name()] = c.Emulated()
		if c.Added != nil {
			most[c.Work] = max(most[c.Work], c.Added.Mean)
		} else if c.Label == "" {
			speeds = append(speeds, c.Speed)
		}
		if c.Speed > 0 {
			weight[c.Name()] -= math.Log(c.Speed)
		}
		if !slices.Contains(names, c.Name()) {
			names = append(names, c.Name())
		}
		if !slices.ContainsFunc(v.Works, func(w overviewWork) bool { return w.Name == c.Work }) {
			v.Works = append(v.Works, overviewWork{Name: c.Work, ID: ids[c.Case]})
		}
	}
	slices.SortStableFunc(names, func(a, b string) int {
		if emulated[a] != emulated[b] { // what is emulated is no finding
			if emulated[b] {
				return -1
			}
			return 1
		}
		return cmp.Compare(weight[b], weight[a])
	})
	axis := chart.NewSpeeds(speeds, margin)
	v.axis = axis
	for _, c := range costs {
		if c.Added != nil || c.Speed == 0 {
			continue
		}
		w := &v.Works[slices.IndexFunc(v.Works, func(w overviewWork) bool { return w.Name == c.Work })]
		if w.of = chart.Lost; c.Metric.Better == bench.LowerIsBetter {
			w.of = chart.Longer
		}
		w.Axis = axis.Axis(w.of)
	}
	for _, name := range names {
		row := overviewRow{Name: name}
		for _, w := range v.Works {
			cell := overviewCell{Words: notAsked, Class: "open"}
			for _, c := range costs {
				if c.Name() == name && c.Work == w.Name {
					cell = cellOf(c, axis, most[w.Name], ids[c.Case])
				}
			}
			row.Cells = append(row.Cells, cell)
		}
		v.Rows = append(v.Rows, row)
	}
	if !slices.ContainsFunc(costs, func(c result.Cost) bool { return c.Speed != 0 }) {
		return // nothing is drawn
	}
	v.Note = fmt.Sprintf("Right is slower. Dots are estimates, lines and grey figures their 95 %% intervals; the shaded band, ±%s, counts as no difference. A hollow dot and ? are not decided. An arrow leaves the scale, which is from %s times as fast to %s times as slow.",
		figure.Share(margin), figure.Number(axis.Fastest()), figure.Number(axis.Slowest()))
	if len(most) == len(v.Works) {
		v.Note = "A bar is what the platform adds to the baseline, its 95 % interval in grey beside the amount."
	} else if len(most) > 0 {
		v.Note += " A bar is an amount that is added."
	}
	if slices.ContainsFunc(costs, inverse) {
		v.Note += " " + inverseNote + "."
	}
	v.Note += " The platform that costs most over all kinds of work comes first."
	if slices.ContainsFunc(names, func(n string) bool { return emulated[n] }) {
		v.Note = strings.TrimSuffix(v.Note, ".") + ", what is emulated last."
	}
}

func cellOf(c result.Cost, axis chart.Speeds, most float64, id string) overviewCell {
	cell := overviewCell{ID: id, Words: c.Short, Bounds: c.Bounds, Class: "open"}
	switch {
	case c.Speed == 0:
		return cell
	case c.Verdict == result.Equivalent:
		cell.Class = "same"
	case c.Verdict == result.Differs && c.Speed < 1:
		cell.Class = "worse"
	case c.Verdict == result.Differs:
		cell.Class = "better"
	}
	title := c.Name() + ", " + c.Work + ": " + c.Words
	if c.Added != nil {
		cell.Plot = chart.Amount(cell.Class, c.Added.Mean, most, title)
		return cell
	}
	cell.Plot = axis.Cell(cell.Class, chart.Interval{Low: c.Low, Mid: c.Speed, High: c.High, Title: title}, cell.Class != "open")
	return cell
}
