package chart

import (
	"html/template"

	"tare/internal/bench/figure"
)

// Bar is a stack of parts, left to right, below its name.
type Bar struct {
	Name  string
	Parts []Part
	// Beside is drawn as a thin bar of its own below the others.
	Beside *Part
}

// Part is a stretch of a bar. One of no length is not drawn.
type Part struct {
	Class string
	Value float64
	Title string
}

const (
	barsWidth = 520.0
	barPitch  = 38.0 // from bar to bar
	barHeight = 16.0
	barLeft   = 4.0
)

// Bars draws bars below each other on one scale from 0, of which unit, if any, is named at 0.
func Bars(what, unit string, bars []Bar) template.HTML {
	most, pitch := 0.0, barPitch
	for _, b := range bars {
		sum := 0.0
		for _, p := range b.Parts {
			sum += max(0, p.Value)
		}
		most = max(most, sum)
		if b.Beside != nil {
			pitch = barPitch + 6
		}
	}
	top, step := linearTop(most)
	scale := (barsWidth - 20) / top
	height := pitch*float64(len(bars)) + 22
	d := newDrawing(barsWidth, height, "stack", what)
	for _, t := range ticksTo(top, step) {
		x, name := barLeft+t*scale, figure.Number(t)
		d.line("grid", x, 0, x, height-20)
		if t == 0 && unit != "" {
			x, name = x+6, unit
		}
		d.text("axis", x, height-6, name)
	}
	for i, b := range bars {
		x, y := barLeft, pitch*float64(i)
		d.text("name", x, y+13, b.Name)
		for _, p := range b.Parts {
			if p.Value > 0 {
				d.rect(p.Class, x, y+18, p.Value*scale, barHeight, p.Title)
				x += p.Value * scale
			}
		}
		if p := b.Beside; p != nil {
			d.rect(p.Class, barLeft, y+19+barHeight, p.Value*scale, 4, p.Title)
		}
	}
	return d.html()
}
