package report

import (
	"fmt"
	"html/template"
	"strings"
	"unicode/utf8"

	"tare/internal/result"
)

// The heat map's measures.
const (
	heatLabel  = 190.0 // at least
	heatWidth  = 830.0 // at least, or few columns would be drawn as wide as the page
	heatLetter = 7.0   // of a name, about
	heatColumn = 128.0
	heatRow    = 36.0
	heatHead   = 26.0 // of names of one line
	heatLine   = 14.0 // each further line
	heatName   = 18   // characters of a column's name in a line
	heatGap    = 10.0 // between the rows' groups
	heatPad    = 2.0
)

// heatMap draws the table as tesfatsion2018 figure 10 shows it: a row for each
// subject and platform, a column for each scene that is set against it.
func heatMap(m *result.Matrix) template.HTML {
	rows := relativeRows(m, false)
	head := heatHead
	for _, c := range m.Columns {
		head = max(head, heatHead+heatLine*float64(len(columnLines(c))-1))
	}
	height, last, label := head, "", heatLabel
	for _, r := range rows {
		letters := utf8.RuneCountInString(labelled(r.Platform, r.Label)) + 3
		if r.Row != last {
			letters += utf8.RuneCountInString(r.Row)
		}
		label = max(label, heatLetter*float64(letters))
		if r.Row != last {
			height, last = height+heatGap, r.Row
		}
		height += heatRow
	}
	d := newDrawing(max(heatWidth, label+heatColumn*float64(len(m.Columns))), height, "heat", relativeTitle+", by row, platform and column")
	for i, c := range m.Columns {
		lines := columnLines(c)
		for k, line := range lines {
			d.text("column", label+heatColumn*(float64(i)+0.5), head-8-heatLine*float64(len(lines)-1-k), line)
		}
	}
	y := head
	last = ""
	for _, r := range rows {
		if r.Row != last {
			y += heatGap
			last = r.Row
			d.text("group", 0, y+heatRow/2+5, r.Row)
		}
		d.text("name", label-10, y+heatRow/2+5, labelled(r.Platform, r.Label))
		for i, c := range r.Cells {
			drawCell(d, label+heatColumn*float64(i), y, r, m.Columns[i], c)
		}
		y += heatRow
	}
	return d.html()
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

func drawCell(d *drawing, x, y float64, r result.MatrixRow, column string, c *result.MatrixCell) {
	class, title := "cell none", ""
	if c != nil {
		class = "cell " + heat(c)
		if undecidedCell(c) {
			class += " open"
		}
		title = fmt.Sprintf("%s, %s, %s: %s of %s in %s; %d of %d launches", r.Row, labelled(r.Platform, r.Label), column,
			cellText(c), aloneOf(r), r.Case, c.N, c.Launches)
		if c.Against != nil {
			title += "; " + c.Against.Words
		}
	}
	d.rect(class, x+heatPad, y+heatPad, heatColumn-2*heatPad, heatRow-2*heatPad, title)
	if c == nil {
		return
	}
	bounds := cellBounds(c)
	words, below := c.Words, strings.Trim(bounds, "()")
	if bounds == "" {
		words, below = folded(words)
	}
	if below == "" {
		d.text("value", x+heatColumn/2, y+heatRow/2+5, words)
		return
	}
	d.text("value", x+heatColumn/2, y+heatRow/2, words)
	d.text("bounds", x+heatColumn/2, y+heatRow/2+12, below)
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

// heat is the class of a cell's colour, by how much is lost. What did not
// finish at least once is as bad as can be.
func heat(c *result.MatrixCell) string {
	switch {
	case c.DNF > 0:
		return "dnf"
	case c.Kept == 0, undecidedCell(c):
		return "none"
	case c.Kept > 1.03:
		return "gain"
	}
	class := "k0"
	for _, step := range []struct {
		least float64
		class string
	}{{0.1, "k1"}, {0.25, "k2"}, {0.5, "k3"}, {0.75, "k4"}, {0.9, "k5"}, {0.97, "k6"}} {
		if c.Kept >= step.least {
			class = step.class
		}
	}
	return class
}
