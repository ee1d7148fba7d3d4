package report

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"
)

// drawing is an SVG under construction. Colours come from the page's style
// sheet by class, so a drawing follows the light or dark scheme and the printer.
type drawing struct {
	b             strings.Builder
	width, height float64
}

// newDrawing begins a picture; what says it in words for those who cannot see it.
func newDrawing(width, height float64, class, what string) *drawing {
	d := &drawing{width: width, height: height}
	fmt.Fprintf(&d.b, `<svg class="%s" viewBox="0 0 %s %s" role="img" aria-label="%s">`,
		class, coord(width), coord(height), html.EscapeString(what))
	return d
}

// coord writes a coordinate as short as a tenth of a unit allows.
func coord(v float64) string {
	s := fmt.Sprintf("%.1f", v)
	return strings.TrimSuffix(s, ".0")
}

func (d *drawing) rect(class string, x, y, w, h float64, title string) {
	fmt.Fprintf(&d.b, `<rect class="%s" x="%s" y="%s" width="%s" height="%s">%s</rect>`,
		class, coord(x), coord(y), coord(math.Max(0, w)), coord(h), tooltip(title))
}

func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(&d.b, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`, class, coord(x1), coord(y1), coord(x2), coord(y2))
}

func (d *drawing) circle(class string, x, y, r float64, title string) {
	fmt.Fprintf(&d.b, `<circle class="%s" cx="%s" cy="%s" r="%s">%s</circle>`, class, coord(x), coord(y), coord(r), tooltip(title))
}

func (d *drawing) text(class string, x, y float64, s string) {
	fmt.Fprintf(&d.b, `<text class="%s" x="%s" y="%s">%s</text>`, class, coord(x), coord(y), html.EscapeString(s))
}

// polyline joins the points; a NaN breaks the line.
func (d *drawing) polyline(class string, xs, ys []float64) {
	var run []string
	flush := func() {
		if len(run) > 0 {
			fmt.Fprintf(&d.b, `<polyline class="%s" points="%s"/>`, class, strings.Join(run, " "))
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
