package chart

import (
	"html/template"
	"math"

	"tare/internal/bench/figure"
)

// Ratios is the logarithmic axis that the rows of a table share, of ratios to 1.
type Ratios struct {
	axis   Axis
	margin float64
}

// Interval is an estimate with its bounds.
type Interval struct {
	Low, Mid, High float64
	Title          string
}

const (
	dotsWidth  = 300.0
	dotsHeight = 30.0
	dotsPad    = 10.0
)

// NewRatios covers every ratio given, 1 and the margin around it.
func NewRatios(ratios []float64, margin float64) Ratios {
	low, high := 1-margin, 1+margin
	for _, r := range ratios {
		if r > 0 && !math.IsInf(r, 0) {
			low, high = math.Min(low, r), math.Max(high, r)
		}
	}
	pad := math.Pow(high/low, 0.06)
	return Ratios{Axis{Low: low / pad, High: high * pad, Log: true}, margin}
}

func (s Ratios) at(r float64) float64 { return s.axis.at(r, dotsPad, dotsWidth-dotsPad) }

// Row draws ratios as dots, an interval, if any, as a bar and its estimate as a
// mark, over the margin around 1. An estimate beyond the axis is an arrow at its end.
func (s Ratios) Row(what string, e *Interval, dots []Dot) template.HTML {
	d := newDrawing(dotsWidth, dotsHeight, "plot", what)
	mid := dotsHeight / 2
	d.rect("band", s.at(1-s.margin), 0, s.at(1+s.margin)-s.at(1-s.margin), dotsHeight, "")
	d.line("one", s.at(1), 0, s.at(1), dotsHeight)
	if e != nil {
		switch {
		case e.Mid < s.axis.Low:
			d.text("beyond", 1, mid+5, "◂ "+figure.Number(e.Mid)+"×")
			return d.html()
		case e.Mid > s.axis.High:
			d.text("beyond end", dotsWidth-1, mid+5, figure.Number(e.Mid)+"× ▸")
			return d.html()
		}
		d.rect("interval", s.at(e.Low), mid-3, s.at(e.High)-s.at(e.Low), 6, e.Title)
		d.rect("estimate", s.at(e.Mid)-1.5, mid-7, 3, 14, e.Title)
	}
	for _, p := range dots {
		d.circle("point", s.at(p.X), mid, 2.6, p.Title)
	}
	return d.html()
}

// Axis draws the scale under the rows.
func (s Ratios) Axis() template.HTML {
	d := newDrawing(dotsWidth, 18, "plot", "axis of ratios to the baseline")
	for _, t := range s.ticks(34) {
		d.line("tick", s.at(t), 0, s.at(t), 4)
		d.text("tick", s.at(t), 15, figure.Number(t)+"×")
	}
	return d.html()
}

func (s Ratios) ticks(room float64) []float64 { return ratioTicks(s.axis, s.at, room) }

// ratioTicks are a few ratios people know, 1 among them where it is in range, with
// room between them for labels.
func ratioTicks(axis Axis, at func(float64) float64, room float64) []float64 {
	var ticks []float64
	place := func(r float64) {
		if r <= axis.Low || r >= axis.High {
			return
		}
		for _, t := range ticks {
			if math.Abs(at(t)-at(r)) < room {
				return
			}
		}
		ticks = append(ticks, r)
	}
	place(1)
	// The widest steps first, so that what finds room is round.
	for _, f := range []float64{1000, 100, 10, 5, 2, 1.5, 1.2, 1.1, 1.05, 1.02, 1.01} {
		place(f)
		if f < 2 {
			place(2 - f)
		} else {
			place(1 / f)
		}
	}
	return ticks
}
