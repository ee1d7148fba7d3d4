package report

import (
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"

	"tare/internal/overhead"
)

// latencyView is one histogram of a case: a table and a curve per platform.
type latencyView struct {
	Title  string
	Grid   string
	Names  []string // of the percentiles
	Ratios bool     // that any is given
	Rows   []latencyRow
	Plot   template.HTML
	Legend []legendView
	Notes  []note
}

type latencyRow struct {
	Name, Counts, Caution string
	Cells                 []latencyCell
}

// latencyCell is a percentile and what stands below it.
type latencyCell struct{ Value, Below string }

// byHistogram groups a case's latencies, in their order.
func byHistogram(c overhead.Case) [][]overhead.Latency {
	var groups [][]overhead.Latency
	for i, l := range c.Latency {
		if i == 0 || l.Histogram != c.Latency[i-1].Histogram {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], l)
	}
	return groups
}

func latenciesOf(c overhead.Case) []latencyView {
	var views []latencyView
	for _, group := range byHistogram(c) {
		v := latencyView{Title: latencyTitle(group[0].Histogram), Grid: gridOf(group), Names: percentileNames(group), Notes: latencyNotes(group)}
		for _, l := range group {
			row := latencyRow{Name: labelled(l.Platform, l.Label), Counts: latencyCounts(l), Caution: latencyCaution(l)}
			for _, p := range l.Percentiles {
				cell := latencyCell{duration(p.Bounds), tailRatio(p)}
				v.Ratios = v.Ratios || cell.Below != ""
				if p.Bounds == nil {
					cell.Below = fmt.Sprintf("%d beyond: too few", p.Beyond)
				}
				row.Cells = append(row.Cells, cell)
			}
			if l.Max != nil {
				row.Cells = append(row.Cells, latencyCell{Value: duration(l.Max)})
			}
			for len(row.Cells) < len(v.Names)+1 {
				row.Cells = append(row.Cells, latencyCell{Value: "–"})
			}
			v.Rows = append(v.Rows, row)
		}
		v.Plot, v.Legend = latencyCurves(group)
		views = append(views, v)
	}
	return views
}

func latencyTitle(histogram string) string { return strings.ReplaceAll(histogram, "_", " ") }

func gridOf(group []overhead.Latency) string {
	for _, l := range group {
		if l.Grid != "" {
			return l.Grid
		}
	}
	return ""
}

func percentileNames(group []overhead.Latency) []string {
	for _, l := range group {
		var names []string
		for _, p := range l.Percentiles {
			names = append(names, p.Name)
		}
		if names != nil {
			return names
		}
	}
	return nil
}

func latencyCounts(l overhead.Latency) string {
	if l.Launches == 0 {
		return ""
	}
	launches := "1 launch"
	if l.Launches > 1 {
		launches = fmt.Sprintf("%d launches", l.Launches)
	}
	return thousands(fmt.Sprint(l.Requests)) + " requests of " + launches
}

// duration writes the bounds of a time in the unit that suits the upper one.
func duration(b *overhead.Bounds) string {
	if b == nil {
		return "–"
	}
	unit, scale := "ns", 1.0
	switch {
	case b.High >= 1e9:
		unit, scale = "s", 1e9
	case b.High >= 1e6:
		unit, scale = "ms", 1e6
	case b.High >= 1e3:
		unit, scale = "us", 1e3
	}
	low, high := number(float64(b.Low)/scale), number(float64(b.High)/scale)
	if low == high {
		return low + " " + unit
	}
	return low + "–" + high + " " + unit
}

func tailRatio(p overhead.Percentile) string {
	if e := p.Effect; e != nil && e.HasRatio() {
		return ratio(e.Ratio) + " (" + interval(e) + ")"
	}
	return ""
}

// latencyCaution is what every ratio of the row must wear.
func latencyCaution(l overhead.Latency) string {
	var out []string
	for _, p := range l.Percentiles {
		e := p.Effect
		if e == nil || !e.HasRatio() {
			continue
		}
		if e.Unfair != "" && !slices.Contains(out, "unfair") {
			out = append(out, "unfair")
		}
		if e.Caution != "" && !slices.Contains(out, e.Caution) {
			out = append(out, e.Caution)
		}
	}
	return strings.Join(out, "; ")
}

// latencyNotes say what is not given and why, and what a ratio must wear.
func latencyNotes(group []overhead.Latency) []note {
	var notes []note
	for _, l := range group {
		name := labelled(l.Platform, l.Label)
		if l.Why != "" {
			notes = append(notes, note{name, l.Why})
		}
		said := map[string][]string{} // percentiles by what is said of them
		var order []string
		say := func(p overhead.Percentile, text string) {
			if said[text] == nil {
				order = append(order, text)
			}
			said[text] = append(said[text], p.Name)
		}
		for _, p := range l.Percentiles {
			if p.Why != "" {
				say(p, "not given: "+p.Why)
			}
			switch e := p.Effect; {
			case e == nil:
			case !e.HasRatio() && e.Unfair == "":
				say(p, "no ratio: "+e.Why)
			case e.Unfair != "":
				say(p, "unfair: "+e.Unfair)
			default:
				for _, text := range []string{e.Why, e.Caution} {
					if text != "" {
						say(p, "ratio: "+text)
					}
				}
			}
		}
		for _, text := range order {
			notes = append(notes, note{name, strings.Join(said[text], ", ") + " " + text})
		}
	}
	return notes
}

// The picture of percentiles: shares by nines to the right, times upwards, both
// logarithmic.
const (
	curveWidth, curveHeight = 620.0, 320.0
	curveLeft, curveRight   = 62.0, 28.0
	curveTop, curveBottom   = 10.0, 38.0
	curveColours            = 6
	leastNines              = 2.0
	margins                 = 1.15 // factor left free above and below
)

func latencyCurves(group []overhead.Latency) (template.HTML, []legendView) {
	low, high, nines := math.Inf(1), 0.0, leastNines
	for _, l := range group {
		for _, p := range l.Curve {
			low, high = min(low, max(1, middle(p))), max(high, middle(p))
			nines = max(nines, ninesOf(p.Share))
		}
	}
	if high == 0 {
		return "", nil
	}
	y := logScale{low / margins, high * margins, curveHeight - curveBottom, curveTop}
	x := func(n float64) float64 { return curveLeft + n/nines*(curveWidth-curveLeft-curveRight) }
	d := newDrawing(curveWidth, curveHeight, "curve", "time within which a share of the requests was done, by platform")
	for _, t := range timeTicks(y.low, y.high) {
		d.line("grid", curveLeft, y.at(t), curveWidth-curveRight, y.at(t))
		d.text("ylabel", curveLeft-6, y.at(t)+4, duration(&overhead.Bounds{Low: int64(t), High: int64(t)}))
	}
	for _, share := range []struct {
		nines float64
		name  string
	}{{0, "0 %"}, {ninesOf(0.5), "50 %"}, {1, "90 %"}, {2, "99 %"}, {3, "99.9 %"}, {4, "99.99 %"}, {5, "99.999 %"}, {6, "99.9999 %"}} {
		if share.nines > nines {
			break
		}
		d.line("grid", x(share.nines), curveTop, x(share.nines), curveHeight-curveBottom)
		d.text("xlabel", x(share.nines), curveHeight-curveBottom+15, share.name)
	}
	d.text("xlabel", (curveLeft+curveWidth-curveRight)/2, curveHeight-5, "share of requests done within the time, by nines")
	var legend []legendView
	for i, l := range group {
		if len(l.Curve) == 0 {
			continue
		}
		xs, ys := make([]float64, len(l.Curve)), make([]float64, len(l.Curve))
		for j, p := range l.Curve {
			xs[j], ys[j] = x(ninesOf(p.Share)), y.at(middle(p))
		}
		class := fmt.Sprintf("line c%d dash%d", i%curveColours, i/curveColours%4)
		d.polyline(class, xs, ys)
		key := newDrawing(26, 8, "curve key-line", l.Platform)
		key.polyline(class, []float64{0, 26}, []float64{4, 4})
		legend = append(legend, legendView{key.html(), labelled(l.Platform, l.Label)})
	}
	return d.html(), legend
}

func middle(p overhead.CurvePoint) float64 { return float64(p.Low)/2 + float64(p.High)/2 }

// ninesOf is 1 of 90 %, 2 of 99 %.
func ninesOf(share float64) float64 { return -math.Log10(1 - share) }

// timeTicks are round times between two: 1, 2 and 5 of each decade, or only
// the decades where there are many.
func timeTicks(low, high float64) []float64 {
	steps := []float64{1, 2, 5}
	if high/low > 2e3 {
		steps = steps[:1]
	}
	var ticks []float64
	for decade := math.Pow(10, math.Floor(math.Log10(low))); decade <= high; decade *= 10 {
		for _, s := range steps {
			if t := s * decade; t >= low && t <= high {
				ticks = append(ticks, t)
			}
		}
	}
	return ticks
}

// latencyText writes the table and, with detail, the ratios and the percentiles as marks on a line.
func latencyText(out io.Writer, c overhead.Case, detail bool) {
	for _, group := range byHistogram(c) {
		var t table
		head := []string{"  " + strings.ToUpper(latencyTitle(group[0].Histogram))}
		for _, name := range percentileNames(group) {
			head = append(head, strings.ToUpper(name))
		}
		t.row(append(head, "MAX", "REQUESTS")...)
		for _, l := range group {
			cells := []string{"  " + labelled(l.Platform, l.Label)}
			for _, p := range l.Percentiles {
				cells = append(cells, duration(p.Bounds))
			}
			if l.Max != nil {
				cells = append(cells, duration(l.Max), thousands(fmt.Sprint(l.Requests)))
			}
			t.row(cells...)
		}
		t.write(out)
		paragraph(out, "  ", "  ", "of all requests of all launches together, known to the bins of "+gridOf(group))
		notes := latencyNotes(group)
		if detail {
			tailRatios(out, group)
			curvesText(out, group)
		} else {
			notes = slices.DeleteFunc(notes, func(n note) bool { return !strings.Contains(n.Text, "not given: ") })
		}
		for _, n := range notes {
			paragraph(out, "  - ", "    ", n.Of+": "+n.Text)
		}
	}
}

// tailRatios writes the ratios of single launches' percentiles.
func tailRatios(out io.Writer, group []overhead.Latency) {
	var t table
	head := []string{"  RATIO BY LAUNCH"}
	for _, name := range percentileNames(group) {
		head = append(head, strings.ToUpper(name))
	}
	t.row(head...)
	for _, l := range group {
		if l.Baseline {
			continue
		}
		cells := []string{"  " + labelled(l.Platform, l.Label)}
		for _, p := range l.Percentiles {
			text := tailRatio(p)
			if text == "" {
				text = "–"
			}
			cells = append(cells, text)
		}
		t.row(cells...)
	}
	t.write(out)
}

// curvesText draws each platform's percentiles on one logarithmic line of time.
func curvesText(out io.Writer, group []overhead.Latency) {
	const columns = 72
	marks := []rune("59nN")
	low, high, name := math.Inf(1), 0.0, 0
	for _, l := range group {
		for _, p := range l.Percentiles {
			if p.Bounds != nil {
				low, high = min(low, max(1, float64(p.Bounds.Low))), max(high, float64(p.Bounds.High))
			}
		}
		name = max(name, len([]rune(labelled(l.Platform, l.Label))))
	}
	if high <= low {
		return
	}
	s := logScale{low, high, 0, columns - 1}
	for _, l := range group {
		line := []rune(strings.Repeat("·", columns))
		for i, p := range l.Percentiles {
			if p.Bounds != nil && i < len(marks) {
				line[int(math.Round(s.at((float64(p.Bounds.Low)+float64(p.Bounds.High))/2)))] = marks[i]
			}
		}
		fmt.Fprintf(out, "  %-*s %s\n", name, printable(labelled(l.Platform, l.Label)), string(line))
	}
	fmt.Fprintf(out, "  %-*s 5: p50, 9: p90, n: p99, N: p99.9; from %s to %s, equal factors equal lengths\n", name, "",
		duration(&overhead.Bounds{Low: int64(low), High: int64(low)}), duration(&overhead.Bounds{Low: int64(high), High: int64(high)}))
}
