package compare

import (
	"cmp"
	"fmt"
	"slices"

	"tare/internal/analysis/audit"
	"tare/internal/analysis/effect"
	"tare/internal/bench"
	"tare/internal/result"
)

// Relative is where a row stands in the table of scenes set against others on the
// same platform. Its values are what is left, block by block, of the
// performance in the other scene: 1 is all of it.
type Relative struct {
	To     string `json:"to"` // the case that the row's is set against
	Row    string `json:"row"`
	Column string `json:"column"`
	Of     string `json:"of"` // the metric of which so much is left
}

// relativeMetric is what is left of a metric.
func relativeMetric(m bench.Metric) bench.Metric {
	return bench.Metric{Name: "left_of_" + m.Name, Better: bench.HigherIsBetter, Combine: bench.Mean, Headline: m.Headline,
		Doc: "what is left of " + m.Name + ", by block; 1 is all of it"}
}

// cell is a cell of a run's table with its row.
type cell struct {
	row    *result.MatrixRow
	column string
	*result.MatrixCell
}

// place tells a cell from all others of a run, whatever its row and column are called.
type place struct{ scene, to, metric string }

func (c cell) place() place {
	return place{c.Case + "/" + c.row.Platform, c.row.Case, c.row.Metric.Name}
}

func (p place) String() string { return fmt.Sprintf("%s left_of_%s (%s)", p.scene, p.metric, p.to) }

// cells are those of a run's table in its order; none without a table.
func cells(r *result.Result) []cell {
	if r.Relative == nil {
		return nil
	}
	var all []cell
	for i := range r.Relative.Rows {
		row := &r.Relative.Rows[i]
		for j, c := range row.Cells {
			if c != nil {
				all = append(all, cell{row, r.Relative.Columns[j], c})
			}
		}
	}
	return all
}

// placedCells are a run's cells, and their order.
func placedCells(r Run) (map[place]cell, []place) {
	at, order := map[place]cell{}, []place(nil)
	for _, x := range cells(r.Result) {
		at[x.place()] = x
		order = append(order, x.place())
	}
	return at, order
}

// relativeRows pairs the cells of all tables, and adds a row for each.
func (c *Comparison) relativeRows(a, b []Run, o Options) {
	archived := tableOf(o.Archive, placedCells)
	var rows []Row
	both(c, a, b, placedCells, func(x cell) string { return x.row.Platform }, func(at place, x, y []cell) {
		for _, z := range slices.Concat(x, y) {
			if o.Relative && z.row.Baseline {
				return
			}
		}
		rows = append(rows, c.relativeRow(a, b, at, x, y, archived, o))
	})
	first := map[string]int{} // by what is shown as one table
	for i, r := range rows {
		if _, seen := first[r.Title+r.Metric.Name]; !seen {
			first[r.Title+r.Metric.Name] = i
		}
	}
	slices.SortStableFunc(rows, func(x, y Row) int { return cmp.Compare(first[x.Title+x.Metric.Name], first[y.Title+y.Metric.Name]) })
	c.Rows = append(c.Rows, rows...)
}

// relativeRow is a row of what is left. It is audited as the rows of both scenes
// are, and within each run.
func (c *Comparison) relativeRow(a, b []Run, at place, xs, ys []cell, archived table[place, cell], o Options) Row {
	x, y := xs[0], ys[0]
	row := Row{
		Case: x.Case, Title: fmt.Sprintf("%s, %s, by %s", x.row.Row, x.column, x.row.Case), Platform: x.row.Platform, Label: y.row.Label,
		Baseline: x.row.Baseline && y.row.Baseline, Metric: relativeMetric(x.row.Metric),
		Relative: &Relative{To: x.row.Case, Row: x.row.Row, Column: x.column, Of: x.row.Metric.Name},
		A:        relativeValues(xs, o.Relative), B: relativeValues(ys, o.Relative),
	}
	var found []audit.Check
	unlike := ""
	level := effect.Confidence
	for _, name := range []string{x.Case, x.row.Case} {
		for _, check := range checksOf(a[0], b[0], name, x.row) {
			if name != x.Case && !slices.Contains(found, check) {
				check.Name += " in " + name
			}
			found = append(found, check)
		}
		unlike += unlikeRows(a, rowsOf(a, name, x.row)) + unlikeRows(b, rowsOf(b, name, x.row))
		for _, r := range slices.Concat(a, b) {
			level = max(level, r.level(name, row.Platform))
		}
	}
	within := func(z cell) []*result.Effect {
		if o.Relative {
			return []*result.Effect{z.Effect, z.Against}
		}
		return []*result.Effect{z.Effect}
	}
	var effects []*result.Effect
	for _, z := range slices.Concat(xs, ys) {
		effects = append(effects, within(z)...)
	}
	for i, r := range o.Archive {
		z, has := archived.runs[i][at]
		if has && fits(checksOf(a[0], r, x.Case, x.row)) && fits(checksOf(a[0], r, x.row.Case, x.row)) &&
			!slices.ContainsFunc(within(z), func(e *result.Effect) bool { return !stands(e) }) {
			row.archived(relativeValues([]cell{z}, o.Relative))
		}
	}
	row.Change = c.change(&row, level, c.fair(&row, found, unlike, effects...), o)
	return row
}

// checksOf are the checks of a platform in a case of two runs.
func checksOf(a, b Run, name string, row *result.MatrixRow) []audit.Check {
	rows := rowsOf([]Run{a, b}, name, row)
	if len(rows) < 2 {
		return nil // the other side has no such scene, which is said
	}
	return audit.CompareRows(rows[0], rows[1])
}

// rowsOf are what the audit looks at of a platform in a case, of the runs that have it.
func rowsOf(runs []Run, name string, row *result.MatrixRow) []audit.Row {
	var out []audit.Row
	for _, r := range runs {
		at, _ := placedRows(r)
		scene := name + "/" + row.Platform
		if p, has := at[key{scene, row.Metric.Name}]; has {
			out = append(out, r.row(scene, p.in, p.row))
		}
	}
	return out
}

// relativeValues are the shares by block of cells of a side, or what they are by the baseline's.
func relativeValues(xs []cell, relative bool) Values {
	var v Values
	for _, x := range xs {
		v.count(x.Failed, x.DNF, x.Overdue, x.Missing, x.Alone)
		v.add(x.Shares(x.row.Metric), x.Against, relative)
	}
	return v
}
