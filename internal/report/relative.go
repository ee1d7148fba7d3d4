package report

import (
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"tare/internal/overhead"
)

// relativeTitle stands over the table and the heat map.
const relativeTitle = "What is left of the performance"

// relativeNote says how to read them.
func relativeNote(m *overhead.Matrix) string {
	return "Each platform against itself: its performance in a scene by its performance in the scene that this is set against, " +
		targets(m) + ", in the same block; 100 % is all of it, whatever the metric. DNF: the subject did not finish."
}

// openNote says what the map's dashed cells are.
const openNote = " A dashed cell without colour is not decided: its interval holds 100 %, or there are too few blocks for one."

// targets name what the rows are set against: "alone", or "cpu-alone (CPU), disk-alone (disk)".
func targets(m *overhead.Matrix) string {
	var cases, all []string
	for _, r := range m.Rows {
		text := r.Case + " (" + r.Row + ")"
		if r.Row == r.Case {
			text = r.Case
		}
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
		if !slices.Contains(cases, r.Case) {
			cases = append(cases, r.Case)
		}
	}
	if len(cases) == 1 {
		return cases[0]
	}
	return strings.Join(all, ", ")
}

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
	paragraph(out, "  ", "  ", relativeNote(m))
	var t table
	head := []string{"  ", "METRIC", "SET AGAINST"}
	for _, c := range m.Columns {
		head = append(head, strings.ToUpper(c))
	}
	t.row(head...)
	last := ""
	for _, row := range relativeRows(m, all) {
		if of := row.Row + "\n" + row.Case; of != last {
			last = of
			group := make([]string, len(head))
			group[0], group[2] = "  "+row.Row, row.Case
			t.row(group...)
		}
		cells := []string{"    " + labelled(row.Platform, row.Label), row.Metric.Name, aloneOf(row)}
		for _, c := range row.Cells {
			cells = append(cells, cellText(c))
		}
		t.row(cells...)
	}
	t.write(out)
	for _, n := range relativeNotes(relativeRows(m, all), m.Columns) {
		paragraph(out, "  - ", "    ", n)
	}
}

// relativeNotes are said below the table: of cells, of what is otherwise than
// in the scene that one is set against, and of platforms; each once.
func relativeNotes(rows []overhead.MatrixRow, columns []string) []string {
	var cells, differs, platforms []string
	caveats := map[string][]string{} // by platform
	add := func(to *[]string, text string) {
		if text != "" && !slices.Contains(*to, text) {
			*to = append(*to, text)
		}
	}
	for _, row := range rows {
		for i, c := range row.Cells {
			add(&cells, cellNotes(row, columns[i], c))
			if c != nil && len(c.Differs) > 0 {
				add(&differs, fmt.Sprintf("%s, %s: differs from %s in: %s", row.Row, columns[i], row.Case, strings.Join(c.Differs, ", ")))
			}
		}
		name := labelled(row.Platform, row.Label)
		for _, text := range row.Caveats {
			add(&platforms, name)
			of := caveats[name]
			add(&of, text)
			caveats[name] = of
		}
	}
	for i, name := range platforms {
		platforms[i] = name + ": " + strings.Join(caveats[name], "; ")
	}
	return slices.Concat(cells, differs, platforms)
}

// aloneOf is the median of what the others are set against.
func aloneOf(row overhead.MatrixRow) string {
	if row.N == 0 {
		return "–"
	}
	return quantity(row.Alone, row.Metric.Unit)
}

// cellText is a cell in words with its bounds, and whether it is decided.
func cellText(c *overhead.MatrixCell) string {
	if c == nil {
		return ""
	}
	text := strings.TrimSpace(c.Words + " " + cellBounds(c))
	switch {
	case !undecidedCell(c):
	case c.High == 0:
		text += ", no statement"
	default:
		text += ", undecided"
	}
	return text
}

// undecidedCell: there is a figure that nothing should be concluded from.
func undecidedCell(c *overhead.MatrixCell) bool {
	v := c.Effect.Verdict
	return c.Kept > 0 && v != overhead.Differs && v != overhead.Equivalent
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
	if c.Effect.Unfair != "" {
		notes = append(notes, "unfair: "+c.Effect.Unfair)
	}
	if a := c.Against; a != nil && (a.Verdict == overhead.Differs || c.DNF > 0) {
		notes = append(notes, a.Words)
	}
	if c.Gone > 0 {
		notes = append(notes, fmt.Sprintf("the neighbour itself ended before the measurement in %d of %d", c.Gone, c.Launches))
	}
	if c.Ended > 0 {
		notes = append(notes, fmt.Sprintf("the watchdog ended %d of %d for the host's sake", c.Ended, c.Launches))
	}
	if c.Fairness != nil {
		notes = append(notes, "the alike subjects among themselves: "+fairnessWords(c.Fairness))
	}
	if len(notes) == 0 {
		return ""
	}
	of := column
	if !row.Metric.Headline {
		of += ", " + row.Metric.Name
	}
	return fmt.Sprintf("%s, %s, %s: %s", row.Row, labelled(row.Platform, row.Label), of, strings.Join(notes, "; "))
}

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
func heatMap(m *overhead.Matrix) template.HTML {
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

func drawCell(d *drawing, x, y float64, r overhead.MatrixRow, column string, c *overhead.MatrixCell) {
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
func heat(c *overhead.MatrixCell) string {
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
	v := &relativeView{Title: relativeTitle, Note: relativeNote(m) + openNote, Map: heatMap(m), Columns: m.Columns, Notes: relativeNotes(relativeRows(m, false), m.Columns)}
	for _, row := range m.Rows {
		if row.Metric.Headline {
			continue
		}
		f := relativeRow{Name: row.Row + ", " + labelled(row.Platform, row.Label), Metric: row.Metric.Name, Alone: aloneOf(row)}
		for _, c := range row.Cells {
			f.Cells = append(f.Cells, cellText(c))
		}
		v.Further = append(v.Further, f)
	}
	return v
}
