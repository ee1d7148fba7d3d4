package report

import (
	"fmt"
	"html/template"
	"math"

	"tare/internal/result"
)

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

func latencyCurves(group []result.Latency) (template.HTML, []legendView) {
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
		d.text("ylabel", curveLeft-6, y.at(t)+4, duration(&result.Bounds{Low: int64(t), High: int64(t)}))
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

func middle(p result.CurvePoint) float64 { return float64(p.Low)/2 + float64(p.High)/2 }

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
	first := math.Floor(math.Log10(low))
	for k := 0; k < mostTicks && math.Pow(10, first+float64(k)) <= high; k++ {
		for _, s := range steps {
			if t := s * math.Pow(10, first+float64(k)); t >= low && t <= high {
				ticks = append(ticks, t)
			}
		}
	}
	return ticks
}
