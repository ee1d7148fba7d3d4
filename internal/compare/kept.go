package compare

import (
	"cmp"
	"fmt"
	"slices"

	"tare/internal/audit"
	"tare/internal/bench"
	"tare/internal/result"
)

// Kept is where a row stands in the table of scenes set against others on the
// same platform. Its values are what is left, block by block, of the
// performance in the other scene: 1 is all of it.
type Kept struct {
	To     string `json:"to"` // the case that the row's is set against
	Row    string `json:"row"`
	Column string `json:"column"`
	Of     string `json:"of"` // the metric of which so much is left
}

// keptMetric is what is left of a metric.
func keptMetric(m bench.Metric) bench.Metric {
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

// keptRows pairs the cells of both tables, and adds a row for each.
func (c *Comparison) keptRows(a, b Run, o Options) {
	inA, inB := measuredOn(a), measuredOn(b)
	at := map[place]cell{}
	for _, x := range cells(b.Result) {
		at[x.place()] = x
	}
	var rows []Row
	for _, x := range cells(a.Result) {
		y, both := at[x.place()]
		if !both {
			c.OnlyA = only(c.OnlyA, x.row.Platform, inB, x.place().String())
			continue
		}
		delete(at, x.place())
		if o.Relative && (x.row.Baseline || y.row.Baseline) {
			continue
		}
		rows = append(rows, c.keptRow(a, b, x, y, o))
	}
	for _, y := range cells(b.Result) {
		if _, left := at[y.place()]; left {
			c.OnlyB = only(c.OnlyB, y.row.Platform, inA, y.place().String())
		}
	}
	first := map[string]int{} // by what is shown as one table
	for i, r := range rows {
		if _, seen := first[r.Title+r.Metric.Name]; !seen {
			first[r.Title+r.Metric.Name] = i
		}
	}
	slices.SortStableFunc(rows, func(x, y Row) int { return cmp.Compare(first[x.Title+x.Metric.Name], first[y.Title+y.Metric.Name]) })
	c.Rows = append(c.Rows, rows...)
}

// keptRow is a row of what is left. It is audited as the rows of both scenes
// are, and within each run.
func (c *Comparison) keptRow(a, b Run, x, y cell, o Options) Row {
	row := Row{
		Case: x.Case, Title: fmt.Sprintf("%s, %s, by %s", x.row.Row, x.column, x.row.Case), Platform: x.row.Platform, Label: y.row.Label,
		Baseline: x.row.Baseline && y.row.Baseline, Metric: keptMetric(x.row.Metric),
		Kept: &Kept{To: x.row.Case, Row: x.row.Row, Column: x.column, Of: x.row.Metric.Name},
		A:    keptValues(x, o.Relative), B: keptValues(y, o.Relative),
	}
	var found []audit.Check
	for _, name := range []string{x.Case, x.row.Case} {
		for _, check := range checksOf(a, b, name, x.row) {
			if check.Name == platformVersion {
				row.A.Version, row.B.Version = check.Baseline, check.Subject
			}
			if name != x.Case && !slices.Contains(found, check) {
				check.Name += " in " + name
			}
			found = append(found, check)
		}
	}
	for _, check := range found {
		if check.State != audit.Same {
			row.Checks = append(row.Checks, check)
		}
	}
	all := audit.Audit{Checks: slices.Concat(c.Checks, found)}
	why := reasons(all.Invalid())
	for _, z := range []cell{x, y} {
		if why != "" {
			break
		}
		if z.Effect.Unfair != "" {
			why = "within a run: " + z.Effect.Unfair
		} else if o.Relative && z.Against != nil && z.Against.Verdict == result.Unfair {
			why = "within a run: " + z.Against.Words
		}
	}
	row.Change = c.change(&row, why, o)
	return row
}

// checksOf are the checks of a platform in a case of both runs.
func checksOf(a, b Run, name string, row *result.MatrixRow) []audit.Check {
	k, ra := rowIn(a.Result, name, row.Platform, row.Metric.Name)
	_, rb := rowIn(b.Result, name, row.Platform, row.Metric.Name)
	if ra == nil || rb == nil {
		return nil // the other side has no such scene, which is said
	}
	return sceneChecks(a, b, name+"/"+row.Platform, k, ra, rb)
}

func rowIn(r *result.Result, name, platform, metric string) (*result.Case, *result.Row) {
	for i := range r.Cases {
		k := &r.Cases[i]
		for j := range k.Rows {
			if row := &k.Rows[j]; k.Name == name && row.Platform == platform && row.Metric.Name == metric {
				return k, row
			}
		}
	}
	return nil, nil
}

// keptValues are a cell's shares by block, or what they are by the baseline's.
func keptValues(x cell, relative bool) Values {
	v := Values{Failed: x.Failed + x.DNF, Overdue: x.Overdue, Missing: x.Missing}
	return v.of(x.Shares(x.row.Metric), x.Against, relative)
}
