package report

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"tare/internal/bench/figure"
	"tare/internal/report/chart"
	"tare/internal/result"
)

// relativeTitle stands over the table and the heat map.
const relativeTitle = "What is left of the performance"

// relativeNote says how to read them.
func relativeNote(r *result.Result) string {
	m := r.Relative
	note := "Each platform against itself: its performance in a cell's scene, divided by that in " + targets(r) +
		", in the same block. 100 % is all of it, whatever the metric."
	for _, row := range m.Rows {
		if slices.ContainsFunc(row.Cells, func(c *result.MatrixCell) bool { return c != nil && c.DNF > 0 }) {
			return note + " DNF: the subject did not finish."
		}
	}
	return note
}

// openNote says what the map's cells without a colour are.
const openNote = " The more is lost, the darker the cell. A dashed cell is not decided, one that is grey without dashes has no figure (not measured yet: its launches are still to come), and where there is no cell nothing was asked."

// targets name what the rows are set against: "Alone" or, of several rows, "CPU work, alone" (CPU).
func targets(r *result.Result) string {
	var cases, all []string
	titles := map[string]string{}
	for _, c := range r.Cases {
		titles[c.Name] = c.Title
	}
	for _, r := range r.Relative.Rows {
		text := `"` + cmp.Or(titles[r.Case], r.Case) + `"`
		if r.Row != r.Case {
			text += " (" + r.Row + ")"
		}
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
		if !slices.Contains(cases, r.Case) {
			cases = append(cases, r.Case)
		}
	}
	if len(cases) == 1 {
		return `"` + cmp.Or(titles[cases[0]], cases[0]) + `"`
	}
	return strings.Join(all, ", ")
}

// headRows are the rows of the headline metrics.
func headRows(m *result.Matrix) []result.MatrixRow {
	var rows []result.MatrixRow
	for _, r := range m.Rows {
		if r.Metric.Headline {
			rows = append(rows, r)
		}
	}
	return rows
}

// relativeText is the table, and below it how platforms differ from the baseline.
func relativeText(r *result.Result) []block {
	m := r.Relative
	if m == nil {
		return nil
	}
	rows := m.Rows
	columns := []column[result.MatrixRow]{
		{"", func(row result.MatrixRow) string { return "  " + row.Name() }},
		{"METRIC", func(row result.MatrixRow) string { return row.Metric.Name }},
		{"SET AGAINST", aloneOf},
	}
	for i, c := range m.Columns {
		columns = append(columns, column[result.MatrixRow]{strings.ToUpper(c), func(row result.MatrixRow) string { return cellText(row.Cells[i]) }})
	}
	return []block{blank, text{"", "", relativeTitle}, said{relativeNote(r)}, table[result.MatrixRow]{rows: rows, columns: columns, group: func(row result.MatrixRow) []string {
		return append([]string{row.Row, "", row.Case}, make([]string, len(m.Columns))...)
	}}, listed(relativeNotes(rows, m.Columns))}
}

// relativeNotes are said below the table: of cells, of what is otherwise than
// in the scene that one is set against, and of platforms; each once.
func relativeNotes(rows []result.MatrixRow, columns []string) []string {
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
		name := row.Name()
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
func aloneOf(row result.MatrixRow) string {
	if row.N == 0 {
		return "–"
	}
	return figure.Quantity(row.Alone, row.Metric.Unit)
}

// cellText is a cell in words with its bounds, and whether it is decided.
func cellText(c *result.MatrixCell) string {
	if c == nil {
		return ""
	}
	text := strings.TrimSpace(c.Words + " " + cellBounds(c))
	switch {
	case !undecidedCell(c):
	case c.High == 0:
		text += ", not compared"
	default:
		text += ", undecided"
	}
	return text
}

// undecidedCell: there is a figure that nothing should be concluded from.
func undecidedCell(c *result.MatrixCell) bool {
	v := c.Effect.Verdict
	return c.Kept > 0 && v != result.Differs && v != result.Equivalent
}

// cellBounds are the interval of what is kept.
func cellBounds(c *result.MatrixCell) string {
	if c == nil || c.High == 0 {
		return ""
	}
	low, high := c.Span()
	if low == "" {
		return "(scatters)"
	}
	return "(" + low + "–" + high + ")"
}

// cellNotes say how a cell compares with the baseline's where that is said, and
// what became of the neighbour.
func cellNotes(row result.MatrixRow, column string, c *result.MatrixCell) string {
	if c == nil {
		return ""
	}
	var notes []string
	if c.Effect.Unfair != "" {
		notes = append(notes, c.Effect.UnfairWords())
	}
	if c.Lost() {
		notes = append(notes, c.Effect.Why)
	}
	if a := c.Against; a != nil && (a.Verdict == result.Differs || c.DNF > 0) {
		notes = append(notes, a.Words)
	}
	if c.Stopped > 0 {
		notes = append(notes, fmt.Sprintf("the neighbour was stopped by its own limit of %s in %d of %d", c.StoppedBy, c.Stopped, c.Launches))
	}
	if left := c.Gone - c.Stopped; left > 0 {
		notes = append(notes, fmt.Sprintf("the neighbour itself ended before the measurement in %d of %d", left, c.Launches))
	}
	if c.Alone > 0 {
		notes = append(notes, fmt.Sprintf("there was no neighbour in %d of %d: it ended %s", c.Alone, c.Launches, c.AloneWhy))
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
	return fmt.Sprintf("%s, %s, %s: %s", row.Row, row.Name(), of, strings.Join(notes, "; "))
}

// relativeView is what the page shows of the table.
type relativeView struct {
	Title, Note string
	Map         template.HTML
	Notes       []string
	Columns     []string
	Mapped      []relativeRow // the map's figures, for who cannot see it
	Further     []relativeRow // metrics that are not in the map
}

type relativeRow struct {
	Name, Metric, Alone string
	Cells               []string
}

func relativeOf(r *result.Result) *relativeView {
	m := r.Relative
	if m == nil {
		return nil
	}
	v := &relativeView{Title: relativeTitle, Note: relativeNote(r) + openNote, Map: heatMap(m), Columns: m.Columns, Notes: relativeNotes(headRows(m), m.Columns)}
	for _, row := range m.Rows {
		f := relativeRow{Name: row.Row + ", " + row.Name(), Metric: row.Metric.Name, Alone: aloneOf(row)}
		for _, c := range row.Cells {
			f.Cells = append(f.Cells, cellText(c))
		}
		if row.Metric.Headline {
			v.Mapped = append(v.Mapped, f)
		} else {
			v.Further = append(v.Further, f)
		}
	}
	return v
}

// heatMap draws the table as tesfatsion2018 figure 10 shows it: a row for each
// subject and platform, a column for each scene that is set against it.
func heatMap(m *result.Matrix) template.HTML {
	var rows []chart.HeatRow
	for _, r := range headRows(m) {
		row := chart.HeatRow{Group: r.Row, Name: r.Name()}
		for i, c := range r.Cells {
			row.Cells = append(row.Cells, heatCell(r, m.Columns[i], c))
		}
		rows = append(rows, row)
	}
	return chart.HeatMap(relativeTitle+", by row, platform and column", m.Columns, rows)
}

// referenceColumn is how a specification calls the column of what others are set against: a row without a
// cell there is set against itself.
const referenceColumn = "alone"

func heatCell(r result.MatrixRow, column string, c *result.MatrixCell) chart.HeatCell {
	switch {
	case c == nil && column == referenceColumn:
		return chart.HeatCell{Class: "base", Words: "100 %", Below: "the reference", Title: fmt.Sprintf("%s, %s: %s in %s, which the other cells are set against", r.Row, r.Name(), aloneOf(r), r.Case)}
	case c == nil:
		return chart.HeatCell{Class: "blank"}
	}
	cell := chart.HeatCell{Class: heat(c), Words: c.Words, Below: strings.Trim(cellBounds(c), "()"),
		Title: fmt.Sprintf("%s, %s, %s: %s of %s in %s; %d of %d launches", r.Row, r.Name(), column, cellText(c), aloneOf(r), r.Case, c.N, c.Launches)}
	if first, rest, found := strings.Cut(cell.Words, ", "); found && cell.Below != "" {
		cell.Words, cell.Below = first, rest+", "+cell.Below
	}
	if c.Alone > 0 && c.Alone == c.Launches {
		cell.Words, cell.Below = "no neighbour", fmt.Sprintf("%d of %d", c.Alone, c.Launches)
	}
	if undecidedCell(c) {
		cell.Class += " open"
	}
	if c.Against != nil {
		cell.Title += "; " + c.Against.Words
	}
	return cell
}

// heat is the class of a cell's colour, by how much is lost. What did not
// finish at least once is as bad as can be.
func heat(c *result.MatrixCell) string {
	switch {
	case c.DNF > 0:
		return "dnf"
	case c.Kept == 0, undecidedCell(c):
		return "none"
	}
	return chart.Heat(c.Kept)
}
