package report

import (
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"

	"tare/internal/figure"
	"tare/internal/result"
)

// sweepView is a metric over a factor.
type sweepView struct {
	Title, Metric, Better string
	Plot                  template.HTML
	Legend                []legendView
	Knees                 []string
}

// widest is the factor between the ends of an axis above which it is logarithmic.
const widest = 24

// sweepAxis maps values to pixels.
type sweepAxis struct {
	low, high, from, to float64
	log                 bool
}

func (a sweepAxis) at(v float64) float64 {
	share := (v - a.low) / (a.high - a.low)
	if a.log {
		share = math.Log(v/a.low) / math.Log(a.high/a.low)
	}
	return a.from + share*(a.to-a.from)
}

func sweepViews(sweeps []result.Sweep) []sweepView {
	var views []sweepView
	for i := range sweeps {
		views = append(views, sweepOf(&sweeps[i]))
	}
	return views
}

// sweepOf draws a line per platform through the medians, with the least and the
// most of each level's launches as a bar, and the knee as a band at the foot.
func sweepOf(s *result.Sweep) sweepView {
	v := sweepView{Title: s.Title, Metric: s.Metric.Name + " in " + s.Metric.Unit, Better: string(s.Metric.Better) + " is better", Knees: knees(s)}
	x, y, ok := sweepAxes(s)
	if !ok {
		return v
	}
	d := newDrawing(curveWidth, curveHeight, "curve sweep", s.Metric.Name+" over "+s.Axis+", by platform")
	foot := curveHeight - curveBottom
	for _, t := range y.ticks() {
		d.line("grid", curveLeft, y.at(t), curveWidth-curveRight, y.at(t))
		d.text("ylabel", curveLeft-6, y.at(t)+4, figure.Number(t))
	}
	last := math.Inf(-1)
	for _, l := range levels(s) {
		at := x.at(l.X)
		d.line("grid", at, curveTop, at, foot)
		if at-last > 30 {
			d.text("xlabel", at, foot+15, l.Level)
			last = at
		}
	}
	d.text("xlabel", (curveLeft+curveWidth-curveRight)/2, curveHeight-5, s.Axis)
	for i, l := range s.Lines {
		class := fmt.Sprintf("line c%d dash%d", i%curveColours, i/curveColours%4)
		var xs, ys []float64
		for _, p := range l.Points {
			px := x.at(p.X) + float64(i-len(s.Lines)/2)*1.5 // so that bars of equal values are seen apart
			xs, ys = append(xs, px), append(ys, y.at(p.Median))
			d.line(class, px, y.at(p.Low), px, y.at(p.High))
			d.circle(class, px, y.at(p.Median), 2, fmt.Sprintf("%s, %s %s: %s (%s to %s, %s)", labelled(l.Platform, l.Label), s.Axis, p.Level,
				figure.Quantity(p.Median, s.Metric.Unit), figure.Number(p.Low), figure.Number(p.High), figure.Count(p.N, "launch")))
		}
		d.polyline(class, xs, ys)
		if l.Knee != nil {
			d.line(class, x.at(l.Knee.Low), foot-3-4*float64(i), x.at(l.Knee.High), foot-3-4*float64(i))
			d.circle(class, x.at(l.Knee.At), foot-3-4*float64(i), 3, "knee of "+labelled(l.Platform, l.Label))
		}
		key := newDrawing(26, 8, "curve key-line", l.Platform)
		key.polyline(class, []float64{0, 26}, []float64{4, 4})
		v.Legend = append(v.Legend, legendView{key.html(), labelled(l.Platform, l.Label)})
	}
	v.Plot = d.html()
	return v
}

// sweepAxes cover every point; the one upwards begins at 0 unless it is logarithmic.
func sweepAxes(s *result.Sweep) (x, y sweepAxis, ok bool) {
	x = sweepAxis{low: math.Inf(1), high: math.Inf(-1), from: curveLeft, to: curveWidth - curveRight}
	y = sweepAxis{low: math.Inf(1), high: math.Inf(-1), from: curveHeight - curveBottom, to: curveTop}
	for _, l := range s.Lines {
		for _, p := range l.Points {
			x.low, x.high = min(x.low, p.X), max(x.high, p.X)
			y.low, y.high = min(y.low, p.Low), max(y.high, p.High)
		}
	}
	if !(x.low < x.high) || !(y.high > 0) {
		return x, y, false
	}
	x.log = x.low > 0 && x.high/x.low > widest
	if y.log = y.low > 0 && y.high/y.low > widest; y.log {
		y.low, y.high = y.low/margins, y.high*margins
	} else {
		y.low = 0
		y.high, _ = linearTop(y.high)
	}
	return x, y, true
}

func (a sweepAxis) ticks() []float64 {
	if a.log {
		return timeTicks(a.low, a.high)
	}
	_, step := linearTop(a.high)
	return ticksTo(a.high, step)
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

// knees says where the lines bend.
func knees(s *result.Sweep) []string {
	var all []string
	for _, l := range s.Lines {
		name := labelled(l.Platform, l.Label)
		switch {
		case l.Knee != nil:
			all = append(all, fmt.Sprintf("%s: knee at %.2f %s (%.2f to %.2f)", name, l.Knee.At, s.Axis, l.Knee.Low, l.Knee.High))
		case l.NoKnee != "":
			all = append(all, fmt.Sprintf("%s: no knee given: %s", name, l.NoKnee))
		}
		if len(l.DNF) > 0 {
			all = append(all, fmt.Sprintf("%s: no launch finished at %s %s", name, strings.Join(l.DNF, ", "), s.Axis))
		}
	}
	return all
}

// sweepsText writes a table for each sweep: platforms down, levels across.
func sweepsText(out io.Writer, sweeps []result.Sweep) {
	for i := range sweeps {
		s := &sweeps[i]
		fmt.Fprintln(out)
		paragraph(out, "", "  ", fmt.Sprintf("%s: %s in %s, medians, over %s (%s is better)", s.Title, s.Metric.Name, s.Metric.Unit, s.Axis, s.Metric.Better))
		var t table
		head := []string{"  " + strings.ToUpper(s.Axis)}
		across := levels(s)
		for _, l := range across {
			head = append(head, l.Level)
		}
		t.row(head...)
		for _, l := range s.Lines {
			cells := []string{"  " + labelled(l.Platform, l.Label)}
			for _, a := range across {
				cell := "–"
				for _, p := range l.Points {
					if p.X == a.X {
						cell = figure.Number(p.Median)
					}
				}
				cells = append(cells, cell)
			}
			t.row(cells...)
		}
		t.write(out)
		for _, k := range knees(s) {
			paragraph(out, "  - ", "    ", k)
		}
	}
}
