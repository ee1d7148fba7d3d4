package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"

	"tare/internal/bench"
	"tare/internal/figure"
	"tare/internal/result"
)

// crowdLine is one platform in a figure: its points, one for each block and
// size, and through them the means.
type crowdLine struct {
	name   string
	points []crowdPoint
}

type crowdPoint struct {
	n     int // instances
	value float64
	title string
}

// crowdFigures are memory by PSS and by the host, and start-up, over the size of the crowd.
func crowdFigures(rows []result.CrowdRow) []crowdFigure {
	memory := func(meter string) []crowdLine {
		var lines []crowdLine
		for i := range rows {
			l := crowdLine{name: labelled(rows[i].Platform, rows[i].Label)}
			for _, r := range rows[i].Ramps {
				for _, s := range r.Crowd.Steps {
					if v, ok := s.Memory[meter]; ok {
						l.add(s.Instances, v/float64(bench.MiB), fmt.Sprintf("%s, block %d: %d instances, %s", l.name, r.Block, s.Instances, figure.Quantity(v, "bytes")))
					}
				}
			}
			lines = append(lines, l)
		}
		return lines
	}
	var starts []crowdLine
	for i := range rows {
		l := crowdLine{name: labelled(rows[i].Platform, rows[i].Label)}
		for _, r := range rows[i].Ramps {
			for k, ms := range r.Starts {
				l.add(k+1, ms, fmt.Sprintf("%s, block %d: launch %d, %s ms", l.name, r.Block, k+1, figure.Number(ms)))
			}
		}
		starts = append(starts, l)
	}
	var figures []crowdFigure
	for _, f := range []struct {
		title, unit string
		lines       []crowdLine
		linear      bool // the host's difference may be negative
	}{
		{"Memory of the crowd by PSS", "MiB", memory(bench.CrowdPSS), false},
		{"Memory of the crowd by the growth of the host's memory in use", "MiB", memory(bench.CrowdUsed), true},
		{"Start-up of one more, to the end of the first command", "ms", starts, false},
	} {
		if plot, legend := drawCrowd(f.title, f.unit, f.lines, f.linear); plot != "" {
			figures = append(figures, crowdFigure{f.title + ", " + f.unit + "; lines through the means of the blocks", plot, legend})
		}
	}
	return figures
}

func (l *crowdLine) add(n int, value float64, title string) {
	l.points = append(l.points, crowdPoint{n, value, title})
}

// drawCrowd draws values upwards, on a logarithmic scale unless linear, over
// the number of instances. What is not above zero has no place on the former.
func drawCrowd(title, unit string, lines []crowdLine, linear bool) (template.HTML, []legendView) {
	low, high, most := math.Inf(1), math.Inf(-1), 0
	for i := range lines {
		l := &lines[i]
		if !linear {
			l.points = slices.DeleteFunc(l.points, func(p crowdPoint) bool { return p.value <= 0 })
		}
		for _, p := range l.points {
			low, high, most = min(low, p.value), max(high, p.value), max(most, p.n)
		}
	}
	if most == 0 {
		return "", nil
	}
	y, ticks, scale := crowdScale(low, high, linear)
	right, step := linearTop(float64(most))
	x := func(n float64) float64 { return curveLeft + n/right*(curveWidth-curveLeft-curveRight) }
	d := newDrawing(curveWidth, curveHeight, "curve", title+", over the number of instances, by platform")
	for _, t := range ticks {
		d.line("grid", curveLeft, y(t), curveWidth-curveRight, y(t))
		d.text("ylabel", curveLeft-6, y(t)+4, figure.Number(t))
	}
	for _, n := range ticksTo(right, step) {
		d.line("grid", x(n), curveTop, x(n), curveHeight-curveBottom)
		d.text("xlabel", x(n), curveHeight-curveBottom+15, figure.Number(n))
	}
	d.text("xlabel", (curveLeft+curveWidth-curveRight)/2, curveHeight-5, "instances; "+unit+" upwards, "+scale)
	var legend []legendView
	for i, l := range lines {
		if len(l.points) == 0 {
			continue
		}
		colour := fmt.Sprintf("c%d", i%curveColours)
		class := fmt.Sprintf("line %s dash%d", colour, i/curveColours%4)
		ns, means := l.means()
		xs, ys := make([]float64, len(ns)), make([]float64, len(ns))
		for j := range ns {
			xs[j], ys[j] = x(float64(ns[j])), y(means[j])
		}
		d.polyline(class, xs, ys)
		for _, p := range l.points {
			d.circle("dot "+colour, x(float64(p.n)), y(p.value), 2.2, p.title)
		}
		key := newDrawing(26, 8, "curve key-line", l.name)
		key.polyline(class, []float64{0, 26}, []float64{4, 4})
		legend = append(legend, legendView{key.html(), l.name})
	}
	return d.html(), legend
}

// crowdScale places values upwards and says at which round ones a line is drawn.
func crowdScale(low, high float64, linear bool) (y func(float64) float64, ticks []float64, name string) {
	const bottom = curveHeight - curveBottom
	if !linear {
		s := logScale{low / margins, high * margins, bottom, curveTop}
		return s.at, timeTicks(s.low, s.high), "logarithmic"
	}
	_, step := linearTop(max(high, 0) - min(low, 0))
	first, last := math.Floor(min(low, 0)/step), math.Ceil(max(high, 0)/step)
	last = max(last, first+1)
	for k := first; k <= last; k++ {
		ticks = append(ticks, k*step)
	}
	return func(v float64) float64 {
		return bottom - (v/step-first)/(last-first)*(bottom-curveTop)
	}, ticks, "linear"
}

// means are the line's mean values by size, ascending.
func (l *crowdLine) means() (ns []int, means []float64) {
	sum, count := map[int]float64{}, map[int]float64{}
	for _, p := range l.points {
		if count[p.n] == 0 {
			ns = append(ns, p.n)
		}
		sum[p.n] += p.value
		count[p.n]++
	}
	slices.Sort(ns)
	for _, n := range ns {
		means = append(means, sum[n]/count[n])
	}
	return ns, means
}
