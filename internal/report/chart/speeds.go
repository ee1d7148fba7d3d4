package chart

import (
	"fmt"
	"html/template"
	"math"
	"unicode/utf8"
)

// Speeds is the logarithmic axis that the cells of a table share: how fast something is beside
// another, worse to the right. What lies beyond its ends is an arrow there, so that one value far
// out does not make all others one spot.
type Speeds struct {
	axis    Axis // of 1 / speed
	fastest float64
	margin  float64
}

const (
	cellWidth  = 120.0
	cellHeight = 16.0
	cellPad    = 9.0
)

// ends are where an axis may end, as factors.
var ends = []float64{1.1, 1.25, 1.5, 2, 4}

// NewSpeeds makes the axis as short as shows every speed but those beyond its longest, 4 times as
// slow or as fast.
func NewSpeeds(speeds []float64, margin float64) Speeds {
	low, high := ends[0], ends[0]
	for _, s := range speeds {
		if s > 0 && !math.IsInf(s, 0) {
			low, high = max(low, endFor(s)), max(high, endFor(1/s))
		}
	}
	return Speeds{Axis{Low: 1 / low, High: high, Log: true}, low, margin}
}

// endFor is the nearest end that shows a factor, the last if none does.
func endFor(factor float64) float64 {
	for _, e := range ends {
		if factor <= e {
			return e
		}
	}
	return ends[len(ends)-1]
}

// Fastest and Slowest are the ends: 1.25 times as fast, and 2 for half as fast.
func (s Speeds) Fastest() float64 { return s.fastest }
func (s Speeds) Slowest() float64 { return s.axis.High }

func (s Speeds) at(speed float64) float64 { return s.axis.at(1/speed, cellPad, cellWidth-cellPad) }

// Cell draws an estimate as a dot with its interval as a line, both of the class; a dot that is not
// sure is hollow.
func (s Speeds) Cell(class string, e Interval, sure bool) template.HTML {
	d := newDrawing(cellWidth, cellHeight, "speed "+class, e.Title)
	mid := cellHeight / 2
	left, right := s.at(1+s.margin), s.at(1-s.margin)
	d.rect("band", left, 0, right-left, cellHeight, "")
	d.line("one", s.at(1), 0, s.at(1), cellHeight)
	if e.High < 1/s.axis.High { // all of it is beyond the slow end
		d.text("beyond end", cellWidth-1, mid+4, "▸")
		return d.html()
	}
	if e.Low > 1/s.axis.Low {
		d.text("beyond", 1, mid+4, "◂")
		return d.html()
	}
	d.line("interval", s.at(e.High), mid, s.at(e.Low), mid)
	if e.Low < 1/s.axis.High {
		d.text("beyond end", cellWidth-1, mid+4, "▸")
	}
	if e.High > 1/s.axis.Low {
		d.text("beyond", 1, mid+4, "◂")
	}
	dot := "dot"
	if !sure {
		dot = "dot hollow"
	}
	d.circle(dot, s.at(e.Mid), mid, 4.2, "")
	return d.html()
}

// Amount draws an amount as a bar, as long as its share of the most; what is small is a thin line.
func Amount(class string, v, most float64, title string) template.HTML {
	d := newDrawing(cellWidth, cellHeight, "speed "+class, title)
	length := 0.0
	if v > 0 {
		length = max(1.5, v/max(v, most)*(cellWidth-2*cellPad))
	}
	d.rect("amount", cellPad, 4, length, cellHeight-8, "")
	return d.html()
}

// Measure is what an axis says of a speed, as the cells above it do.
type Measure int

const (
	Lost   Measure = iota // the share of a rate that is lost
	Longer                // by how much a time or latency is longer
	Times                 // how many times as slow, for cells of both
)

// Axis draws the scale below the cells.
func (s Speeds) Axis(of Measure) template.HTML {
	d := newDrawing(cellWidth, 14, "speed", "axis: faster to the left, slower to the right")
	for _, t := range s.ticks(of) {
		d.line("tick", s.at(t.At), 0, s.at(t.At), 3)
		d.text("tick", s.at(t.At), 13, t.Name)
	}
	return d.html()
}

// slower are the ticks to the right by the end, of each measure, in percent or, of times, hundredths.
var slower = map[float64][3][]int{
	1.1: {{5}, {5}, {105}}, 1.25: {{10, 20}, {10, 20}, {110, 120}}, 1.5: {{15, 30}, {20, 40}, {120, 140}},
	2: {{25, 50}, {50, 100}, {150, 200}}, 4: {{50, 75}, {100, 200}, {200, 400}},
}

// faster is the tick to the left by the end.
var faster = map[float64][3]Tick{
	1.5: {{1.25, "-25 %"}, {1.25, "-20 %"}, {1.25, "1/1.25x"}}, 2: {{1.5, "-50 %"}, {1.5, "-33 %"}, {1.5, "1/1.5x"}},
	4: {{2, "1/2x"}, {2, "1/2x"}, {2, "1/2x"}},
}

// tickRoom is how far ticks are apart at the least, and letterRoom what a letter of their names takes on
// paper, where letters are largest.
const tickRoom, letterRoom = 25.0, 6.5

// ticks are one for no difference, and of the others those that have room, the outer ones first.
func (s Speeds) ticks(of Measure) []Tick {
	all := []Tick{{1, "0"}}
	if of == Times {
		all[0].Name = "1x"
	}
	add := func(t Tick) {
		for _, other := range all {
			letters := float64(utf8.RuneCountInString(t.Name+other.Name)) / 2
			if math.Abs(s.at(t.At)-s.at(other.At)) < max(tickRoom, letters*letterRoom) {
				return
			}
		}
		all = append(all, t)
	}
	if t := faster[s.Fastest()][of]; t.Name != "" {
		add(t)
	}
	right := slower[s.axis.High][of]
	for i := len(right) - 1; i >= 0; i-- {
		v := float64(right[i]) / 100
		switch of {
		case Lost:
			add(Tick{1 - v, fmt.Sprintf("%d %%", right[i])})
		case Longer:
			add(Tick{1 / (1 + v), fmt.Sprintf("%d %%", right[i])})
		default:
			add(Tick{1 / v, fmt.Sprintf("%gx", v)})
		}
	}
	return all
}
