// Package chart draws pictures of numbers and labels as SVG: stacked bars, curves,
// a heat map, and dots with intervals. It knows what a number looks like, not what it is of.
package chart

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"
)

// drawing is an SVG under construction. Colours come from the page's style
// sheet by class, so a drawing follows the light or dark scheme and the printer.
type drawing struct{ b strings.Builder }

// newDrawing begins a picture; what says it in words for those who cannot see it.
func newDrawing(width, height float64, class, what string) *drawing {
	d := &drawing{}
	fmt.Fprintf(&d.b, "<svg%s>", attributes("class", class, "viewBox", "0 0 "+coord(width)+" "+coord(height), "role", "img", "aria-label", what))
	return d
}

// between keeps the picture from being drawn narrower than so many pixels, so that its letters stay legible
// and what holds it scrolls, and from being drawn wider than so many.
func (d *drawing) between(least, most float64) {
	s := strings.TrimPrefix(d.b.String(), "<svg")
	d.b.Reset()
	d.b.WriteString("<svg" + attributes("style", "min-width: "+coord(least)+"px; max-width: "+coord(most)+"px") + s)
}

// attributes writes names and values in turns. Every attribute of a picture is
// written here, so that none ends but where it should, wherever its value came from.
func attributes(namesAndValues ...string) string {
	var b strings.Builder
	for i := 0; i < len(namesAndValues); i += 2 {
		fmt.Fprintf(&b, ` %s="%s"`, namesAndValues[i], html.EscapeString(namesAndValues[i+1]))
	}
	return b.String()
}

// farthest is how far from a picture's corner anything is drawn.
const farthest = 1e6

// coord writes a coordinate as short as a tenth of a unit allows. What is none, or
// lies far outside of every picture, is drawn at an end: browsers take no other.
func coord(v float64) string {
	if math.IsNaN(v) {
		v = 0
	}
	s := fmt.Sprintf("%.1f", min(max(v, -farthest), farthest))
	return strings.TrimSuffix(s, ".0")
}

func (d *drawing) rect(class string, x, y, w, h float64, title string) {
	fmt.Fprintf(&d.b, "<rect%s>%s</rect>",
		attributes("class", class, "x", coord(x), "y", coord(y), "width", coord(math.Max(0, w)), "height", coord(h)), tooltip(title))
}

func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(&d.b, "<line%s/>", attributes("class", class, "x1", coord(x1), "y1", coord(y1), "x2", coord(x2), "y2", coord(y2)))
}

func (d *drawing) circle(class string, x, y, r float64, title string) {
	fmt.Fprintf(&d.b, "<circle%s>%s</circle>", attributes("class", class, "cx", coord(x), "cy", coord(y), "r", coord(r)), tooltip(title))
}

// diamond stands on its corner, r from its middle to each.
func (d *drawing) diamond(class string, x, y, r float64, title string) {
	fmt.Fprintf(&d.b, "<path%s>%s</path>", attributes("class", class, "d",
		"M"+coord(x-r)+" "+coord(y)+"L"+coord(x)+" "+coord(y-r)+"L"+coord(x+r)+" "+coord(y)+"L"+coord(x)+" "+coord(y+r)+"Z"), tooltip(title))
}

func (d *drawing) text(class string, x, y float64, s string) {
	fmt.Fprintf(&d.b, "<text%s>%s</text>", attributes("class", class, "x", coord(x), "y", coord(y)), html.EscapeString(s))
}

// polyline joins the points; a NaN breaks the line.
func (d *drawing) polyline(class string, xs, ys []float64) {
	var run []string
	flush := func() {
		if len(run) > 0 {
			fmt.Fprintf(&d.b, "<polyline%s/>", attributes("class", class, "points", strings.Join(run, " ")))
		}
		run = nil
	}
	for i := range xs {
		if math.IsNaN(ys[i]) {
			flush()
			continue
		}
		run = append(run, coord(xs[i])+","+coord(ys[i]))
	}
	flush()
}

func (d *drawing) html() template.HTML { return template.HTML(d.b.String() + "</svg>") }

func tooltip(s string) string {
	if s == "" {
		return ""
	}
	return "<title>" + html.EscapeString(s) + "</title>"
}
