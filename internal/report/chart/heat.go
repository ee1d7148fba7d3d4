package chart

import (
	"html/template"
	"math"
	"strings"
	"unicode/utf8"
)

// HeatRow is a row of a heat map; those of one group stand together.
type HeatRow struct {
	Group, Name string
	Cells       []HeatCell
}

// HeatCell is a cell: its colour by class, its words, what stands below them in
// small letters, and what the pointer shows. Without words it is blank.
type HeatCell struct{ Class, Words, Below, Title string }

// The heat map's measures.
const (
	heatLabel  = 190.0 // at least
	heatLetter = 7.0   // of a name, about
	heatColumn = 128.0
	heatRow    = 36.0
	heatHead   = 26.0 // of names of one line
	heatLine   = 14.0 // each further line
	heatName   = 18   // characters of a column's name in a line
	heatGap    = 10.0 // between the rows' groups
	heatPad    = 2.0
	legible    = 0.85 // of its size, the least at which it is drawn
	largest    = 1.2  // of its size, the most
)

// HeatMap draws a table of coloured cells.
func HeatMap(what string, columns []string, rows []HeatRow) template.HTML {
	head := heatHead
	for _, c := range columns {
		head = max(head, heatHead+heatLine*float64(len(columnLines(c))-1))
	}
	height, last, label := head, "", heatLabel
	for _, r := range rows {
		letters := utf8.RuneCountInString(r.Name) + 3
		if r.Group != last {
			letters += utf8.RuneCountInString(r.Group)
			height, last = height+heatGap, r.Group
		}
		label = max(label, heatLetter*float64(letters))
		height += heatRow
	}
	width := label + heatColumn*float64(len(columns))
	d := newDrawing(width, height, "heat", what)
	d.between(legible*width, largest*width)
	for i, c := range columns {
		lines := columnLines(c)
		for k, line := range lines {
			d.text("column", label+heatColumn*(float64(i)+0.5), head-8-heatLine*float64(len(lines)-1-k), line)
		}
	}
	y := head
	last = ""
	for _, r := range rows {
		if r.Group != last {
			y += heatGap
			last = r.Group
			d.text("group", 0, y+heatRow/2+5, r.Group)
		}
		d.text("name", label-10, y+heatRow/2+5, r.Name)
		for i, c := range r.Cells {
			d.cell(label+heatColumn*float64(i), y, c)
		}
		y += heatRow
	}
	return d.html()
}

func (d *drawing) cell(x, y float64, c HeatCell) {
	d.rect("cell "+c.Class, x+heatPad, y+heatPad, heatColumn-2*heatPad, heatRow-2*heatPad, c.Title)
	words, below := c.Words, c.Below
	if below == "" {
		words, below = folded(words)
	}
	switch {
	case words == "":
	case below == "":
		d.text("value", x+heatColumn/2, y+heatRow/2+5, words)
	default:
		d.text("value", x+heatColumn/2, y+heatRow/2, words)
		d.text("bounds", x+heatColumn/2, y+heatRow/2+12, below)
	}
}

// columnLines break a column's name where it is wider than a cell, after its
// commas or, where a part is wider by itself, between words.
func columnLines(name string) []string {
	var lines []string
	for _, line := range broken(strings.Split(name, ", "), ", ") {
		lines = append(lines, broken(strings.Split(line, " "), " ")...)
	}
	return lines
}

// broken puts as many parts into each line as a cell's width takes.
func broken(parts []string, between string) []string {
	var lines []string
	for _, part := range parts {
		if n := len(lines); n > 0 && utf8.RuneCountInString(lines[n-1]+between+part) <= heatName {
			lines[n-1] += between + part
		} else {
			lines = append(lines, part)
		}
	}
	return lines
}

// folded breaks words that are wider than a cell in two.
func folded(words string) (first, rest string) {
	const most = 16 // characters in a cell's width
	if len(words) <= most {
		return words, ""
	}
	for _, at := range []string{": ", ", "} {
		if first, rest, cut := strings.Cut(words, at); cut {
			return first, rest
		}
	}
	i := strings.LastIndex(words[:most+1], " ")
	if i < 0 {
		return words, ""
	}
	return words[:i], words[i+1:]
}

// Heat is the class of a cell of which so much is left: 1 is all of it.
func Heat(kept float64) string {
	kept = math.Round(100*kept) / 100 // what reads alike has one colour
	if kept > 1.03 {
		return "gain"
	}
	class := "k0"
	for _, step := range []struct {
		least float64
		class string
	}{{0.1, "k1"}, {0.25, "k2"}, {0.5, "k3"}, {0.75, "k4"}, {0.9, "k5"}, {0.97, "k6"}} {
		if kept >= step.least {
			class = step.class
		}
	}
	return class
}
