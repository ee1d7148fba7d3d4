package report

import (
	"fmt"
	"html/template"
	"io"
	"strings"

	"tare/internal/overhead"
)

// relativeTitle stands over the table and the heat map.
const relativeTitle = "What is left of the performance alone"

// relativeNote says how to read them.
const relativeNote = "Each platform against itself: performance beside the neighbour by performance alone in the same block; " +
	"100 % is all of it, whatever the metric. DNF: the subject did not finish."

// openNote says what the map's dashed cells are.
const openNote = " A dashed cell is not decided: its interval holds 100 %, or there are too few blocks for one."

// relativeRows are the rows to show: the headline metrics'.
func relativeRows(m *overhead.Matrix, all bool) []overhead.MatrixRow {
	var rows []overhead.MatrixRow
	for _, r := range m.Rows {
		if all || r.Metric.Headline {
			rows = append(rows, r)
		}
	}
	return rows
}

// relativeText writes the table, and below it how platforms differ from the baseline.
func relativeText(out io.Writer, r *overhead.Result, all bool) {
	m := r.Relative
	if m == nil {
		return
	}
	fmt.Fprintln(out)
	paragraph(out, "", "", relativeTitle)
	paragraph(out, "  ", "  ", relativeNote)
	var t table
	head := []string{"  ", "METRIC", "ALONE"}
	for _, c := range m.Columns {
		head = append(head, strings.ToUpper(c))
	}
	t.row(head...)
	last := ""
	for _, row := range relativeRows(m, all) {
		if row.Row != last {
			last = row.Row
			t.row(append([]string{"  " + last}, make([]string, len(head)-1)...)...)
		}
		cells := []string{"    " + labelled(row.Platform, row.Label), row.Metric.Name, aloneOf(row)}
		for _, c := range row.Cells {
			cells = append(cells, strings.TrimSpace(cellOf(c)+" "+cellBounds(c)))
		}
		t.row(cells...)
	}
	t.write(out)
	for _, row := range relativeRows(m, all) {
		for i, c := range row.Cells {
			if n := cellNotes(row, m.Columns[i], c); n != "" {
				paragraph(out, "  - ", "    ", n)
			}
		}
	}
}

// aloneOf is the median of what the others are set against.
func aloneOf(row overhead.MatrixRow) string {
	if row.N == 0 {
		return "–"
	}
	return quantity(row.Alone, row.Metric.Unit)
}

func cellOf(c *overhead.MatrixCell) string {
	if c == nil {
		return ""
	}
	return c.Words
}

// cellBounds are the interval of what is kept.
func cellBounds(c *overhead.MatrixCell) string {
	if c == nil || c.High == 0 {
		return ""
	}
	return fmt.Sprintf("(%.0f–%.0f)", 100*c.Low, 100*c.High)
}

// cellNotes say how a cell compares with the baseline's where that is said, and
// what became of the neighbour.
func cellNotes(row overhead.MatrixRow, column string, c *overhead.MatrixCell) string {
	if c == nil {
		return ""
	}
	var notes []string
	if a := c.Against; a != nil && (a.Verdict == overhead.Differs || c.DNF > 0) {
		notes = append(notes, a.Words)
	}
	if c.Gone > 0 {
		notes = append(notes, fmt.Sprintf("the neighbour itself ended before the measurement in %d of %d", c.Gone, c.Launches))
	}
	if c.Ended > 0 {
		notes = append(notes, fmt.Sprintf("the watchdog ended %d of %d for the host's sake", c.Ended, c.Launches))
	}
	if c.Fairness > 0 {
		notes = append(notes, "fairness between the alike subjects (Jain) "+decimals(c.Fairness, 3))
	}
	if len(notes) == 0 {
		return ""
	}
	return fmt.Sprintf("%s, %s, %s: %s", row.Row, labelled(row.Platform, row.Label), column, strings.Join(notes, "; "))
}

// The heat map's measures.
const (
	heatLabel  = 190.0
	heatColumn = 128.0
	heatRow    = 36.0
	heatHead   = 26.0
	heatGap    = 10.0 // between the rows' groups
	heatPad    = 2.0
)

// heatMap draws the table as tesfatsion2018 figure 10 shows it: a row for each
// subject and platform, a column for each neighbour.
func heatMap(m *overhead.Matrix) template.HTML {
	rows := relativeRows(m, false)
	height, last := heatHead, ""
	for _, r := range rows {
		if r.Row != last {
			height, last = height+heatGap, r.Row
		}
		height += heatRow
	}
	d := newDrawing(heatLabel+heatColumn*float64(len(m.Columns)), height, "heat", relativeTitle+", by subject, platform and neighbour")
	for i, c := range m.Columns {
		d.text("column", heatLabel+heatColumn*(float64(i)+0.5), heatHead-8, c)
	}
	y := heatHead
	last = ""
	for _, r := range rows {
		if r.Row != last {
			y += heatGap
			last = r.Row
			d.text("group", 0, y+heatRow/2+5, r.Row)
		}
		d.text("name", heatLabel-10, y+heatRow/2+5, labelled(r.Platform, r.Label))
		for i, c := range r.Cells {
			drawCell(d, heatLabel+heatColumn*float64(i), y, r, m.Columns[i], c)
		}
		y += heatRow
	}
	return d.html()
}

func drawCell(d *drawing, x, y float64, r overhead.MatrixRow, column string, c *overhead.MatrixCell) {
	class, title := "cell none", ""
	if c != nil {
		class = "cell " + heat(c)
		if v := c.Effect.Verdict; c.Kept > 0 && v != overhead.Differs && v != overhead.Equivalent {
			class += " open"
		}
		title = fmt.Sprintf("%s, %s, beside %s: %s %s of %s alone; %d of %d launches", r.Row, labelled(r.Platform, r.Label), column,
			c.Words, cellBounds(c), aloneOf(r), c.N, c.Launches)
		if c.Against != nil {
			title += "; " + c.Against.Words
		}
	}
	d.rect(class, x+heatPad, y+heatPad, heatColumn-2*heatPad, heatRow-2*heatPad, title)
	if c == nil {
		return
	}
	bounds := cellBounds(c)
	if bounds == "" {
		d.text("value", x+heatColumn/2, y+heatRow/2+5, c.Words)
		return
	}
	d.text("value", x+heatColumn/2, y+heatRow/2, c.Words)
	d.text("bounds", x+heatColumn/2, y+heatRow/2+12, strings.Trim(bounds, "()"))
}

// heat is the class of a cell's colour, by how much is lost. What did not
// finish at least once is as bad as can be.
func heat(c *overhead.MatrixCell) string {
	switch {
	case c.DNF > 0:
		return "dnf"
	case c.Kept == 0:
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

// relativeView is what the page shows of the table.
type relativeView struct {
	Title, Note string
	Map         template.HTML
	Notes       []string
	Columns     []string
	Further     []relativeRow // metrics that are not in the map
}

type relativeRow struct {
	Name, Metric, Alone string
	Cells               []string
}

func relativeOf(r *overhead.Result) *relativeView {
	m := r.Relative
	if m == nil {
		return nil
	}
	v := &relativeView{Title: relativeTitle, Note: relativeNote + openNote, Map: heatMap(m), Columns: m.Columns}
	for _, row := range m.Rows {
		if row.Metric.Headline {
			for i, c := range row.Cells {
				if n := cellNotes(row, m.Columns[i], c); n != "" {
					v.Notes = append(v.Notes, n)
				}
			}
			continue
		}
		f := relativeRow{Name: row.Row + ", " + labelled(row.Platform, row.Label), Metric: row.Metric.Name, Alone: aloneOf(row)}
		for _, c := range row.Cells {
			f.Cells = append(f.Cells, strings.TrimSpace(cellOf(c)+" "+cellBounds(c)))
		}
		v.Further = append(v.Further, f)
	}
	return v
}
