package chart

import (
	"fmt"
	"html/template"
	"math"

	"tare/internal/bench/figure"
)

// Frame is the size of a plot and what its axes take of it.
type Frame struct {
	class                                   string
	width, height, left, right, top, bottom float64
}

// The frames there are, by their widths.
var (
	Wide   = Frame{"curve", 620, 320, 62, 28, 10, 38}
	Middle = Frame{"curve", 520, 240, 48, 20, 10, 36}
	Roomy  = Frame{"curve", 520, 240, 74, 26, 10, 40} // for letters that are larger on a phone
	Panel  = Frame{"curve panel", 360, 220, 46, 14, 12, 36}
	Narrow = Frame{"series", 360, 170, 58, 8, 8, 24}
)

// Line is a series of points, joined.
type Line struct {
	Name  string // in the legend, in which nothing without a name is
	Class string // its colour and dashes; of the plot's own choice if empty
	X, Y  []float64
	Dots  []Dot
	// Colour is a class for its line and dots, in place of the plot's own choice.
	Colour string
	// Marks are hollow, at the height of each Y.
	Marks []Dot
	Bend  *Bend
}

// Dot is a point of its own, with a bar from Low to High if they are not the same.
type Dot struct {
	X, Y, Low, High float64
	Title           string
}

// Bend is where a line bends, drawn at the foot of the plot.
type Bend struct {
	At, Low, High float64
	Title         string
}

// Plot is lines over two axes.
type Plot struct {
	Frame  Frame
	What   string // says the picture in words
	X, Y   Axis
	Shaded *Shade
	Lines  []Line
	// DotClass is of the dots; empty is the colour of their line, faint.
	DotClass string
	// Apart moves each line a little to the side, so that bars of equal values are seen apart.
	Apart bool
	// Scale, if there is one, is the axis upwards in place of Y. What lies beyond has its value at the end.
	Scale *Scale
}

// Shade is a stretch of the axis to the right behind the lines.
type Shade struct {
	From, To float64
	Title    string
}

// Key is a line of a legend.
type Key struct {
	Key  template.HTML
	Name string
}

const colours = 6

// Draw draws the plot and its legend; nothing if no line has a point.
func (p Plot) Draw() (template.HTML, []Key) {
	f := p.Frame
	end, foot := f.width-f.right, f.height-f.bottom
	x := func(v float64) float64 { return p.X.at(v, f.left, end) }
	y := func(v float64) float64 { return p.Y.at(v, foot, f.top) }
	if s := p.Scale; s != nil {
		p.Y = s.axis
		p.Y.Ticks = s.ticks(foot, f.top, 18)
		y = func(v float64) float64 {
			return p.Y.at(min(p.Y.High, max(p.Y.Low, v)), foot, f.top)
		}
	}
	d := newDrawing(f.width, f.height, f.class, p.What)
	if s := p.Shaded; s != nil {
		d.rect("window", x(s.From), f.top, x(s.To)-x(s.From), foot-f.top, s.Title)
	}
	for _, t := range p.Y.Ticks {
		class := "grid"
		if p.Scale != nil && t.At == p.Scale.from && t.At > 0 {
			class = "one"
		}
		d.line(class, f.left, y(t.At), end, y(t.At))
		d.text("ylabel", f.left-6, y(t.At)+4, t.Name)
	}
	last := math.Inf(-1)
	for _, t := range p.X.Ticks {
		at := x(t.At)
		if p.X.Marks {
			d.line("tick", at, foot, at, foot+4)
		} else {
			d.line("grid", at, f.top, at, foot)
		}
		if !p.X.Sparse || at-last > 30 {
			d.text("xlabel", at, foot+15, t.Name)
			last = at
		}
	}
	if p.X.Title != "" {
		d.text("xlabel", (f.left+end)/2, f.height-5, p.X.Title)
	}
	var legend []Key
	drawn := 0
	for i, l := range p.Lines {
		if len(l.X)+len(l.Dots)+len(l.Marks) == 0 {
			continue
		}
		drawn++
		colour := fmt.Sprintf("c%d", i%colours)
		if l.Colour != "" {
			colour = l.Colour
		}
		class, dot, r := l.Class, p.DotClass, 3.2
		if class == "" {
			class = fmt.Sprintf("line %s dash%d", colour, i/colours%4)
			if l.Colour != "" {
				class = "line " + colour
			}
		}
		if dot == "" {
			dot, r = "dot "+colour, 2.2
			if p.Scale != nil {
				r = 2.8
			}
		}
		aside := 0.0
		if p.Apart {
			aside = float64(i-len(p.Lines)/2) * 1.5
		}
		xs, ys := make([]float64, len(l.X)), make([]float64, len(l.X))
		for j := range l.X {
			xs[j], ys[j] = x(l.X[j])+aside, y(l.Y[j])
		}
		d.polyline(class, xs, ys)
		for _, q := range l.Dots {
			if q.Low < q.High {
				d.line(class, x(q.X)+aside, y(q.Low), x(q.X)+aside, y(q.High))
			}
			d.circle(dot, x(q.X)+aside, y(q.Y), r, q.Title)
			switch {
			case p.Scale == nil:
			case q.Y > p.Y.High:
				d.text("beyond", x(q.X)+aside, f.top+10, "▴ "+figure.Digits(q.Y, 3))
			case q.Y < p.Y.Low:
				d.text("beyond", x(q.X)+aside, foot-6, "▾ "+figure.Digits(q.Y, 3))
			}
		}
		for _, q := range l.Marks {
			d.diamond("published "+colour, x(q.X)+aside, y(q.Y), 4.5, q.Title)
		}
		if b := l.Bend; b != nil {
			at := foot - 3 - 4*float64(i)
			d.line(class, x(b.Low), at, x(b.High), at)
			d.circle(class, x(b.At), at, 3, b.Title)
		}
		if l.Name != "" {
			key := newDrawing(26, 8, f.class+" key-line", l.Name)
			key.polyline(class, []float64{0, 26}, []float64{4, 4})
			legend = append(legend, Key{key.html(), l.Name})
		}
	}
	if drawn == 0 {
		return "", nil
	}
	return d.html(), legend
}
