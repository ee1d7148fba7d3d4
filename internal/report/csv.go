package report

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"

	"tare/internal/result"
)

var csvHeader = []string{
	"run", "case", "kind", "workload", "metric", "unit", "better", "platform", "label", "baseline",
	"block", "trial", "value", "median", "n", "ratio", "ratio_low", "ratio_high", "overhead", "cost", "verdict",
	"confidence", "p", "p_holm", "p_equivalence", "drift_per_block", "drift_p",
	"steadiness", "steady_share", "slowing_share", "speeding_share", "not_steady_share", "worst_shift",
	"relative_to", "row", "column", "kept", "kept_low", "kept_high", "says",
}

const (
	// steadinessColumns stand before those of a relative line, relativeColumns at its end.
	steadinessColumns = 6
	relativeColumns   = 7
)

// CSV writes a line for every launch and metric, with the row's effect repeated
// on each, and one of the kind "relative" for every cell of the table of scenes
// set against others. What does not apply is empty.
func CSV(w io.Writer, r *result.Result) error {
	out := csv.NewWriter(w)
	if err := out.Write(csvHeader); err != nil {
		return err
	}
	f := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	for _, c := range r.Cases {
		for _, row := range slices.Concat(c.Rows, c.TailRows(), c.PowerRows(), c.SchedulingRows()) {
			effect := make([]string, 12)
			if e := row.Effect; e != nil {
				effect[5] = string(e.Verdict)
				if e.HasRatio() {
					copy(effect, []string{f(e.Ratio), f(e.Low), f(e.High), f(e.Overhead), f(e.Cost)})
					copy(effect[6:], testColumns(e, f))
				}
			}
			steadiness := steadinessCells(row.Steadiness, f)
			for _, p := range row.Points {
				line := []string{
					r.Run, c.Name, string(c.Kind), c.Workload, row.Metric.Name, row.Metric.Unit, string(row.Metric.Better),
					row.Platform, row.Label, strconv.FormatBool(row.Baseline),
					strconv.Itoa(p.Block), p.Trial, f(p.Value), f(row.Median), strconv.Itoa(row.N),
				}
				if err := out.Write(slices.Concat(line, effect, steadiness, make([]string, relativeColumns))); err != nil {
					return err
				}
			}
		}
	}
	if err := relativeCSV(out, r, f); err != nil {
		return err
	}
	out.Flush()
	return out.Error()
}

// relativeCSV writes the cells of the table of scenes set against others; the
// median is that of the scene they are set against.
func relativeCSV(out *csv.Writer, r *result.Result, f func(float64) string) error {
	if r.Relative == nil {
		return nil
	}
	for _, row := range r.Relative.Rows {
		for i, c := range row.Cells {
			if c == nil {
				continue
			}
			line := []string{
				r.Run, c.Case, "relative", "", row.Metric.Name, row.Metric.Unit, string(row.Metric.Better), row.Platform, row.Label,
				strconv.FormatBool(row.Baseline), "", "", "", "", strconv.Itoa(c.N),
			}
			if row.N > 0 {
				line[13] = f(row.Alone)
			}
			effect := make([]string, 12)
			effect[5] = string(c.Effect.Verdict)
			if c.Effect.HasRatio() {
				copy(effect, []string{f(c.Effect.Ratio), f(c.Effect.Low), f(c.Effect.High), f(c.Effect.Overhead), f(c.Effect.Cost)})
				copy(effect[6:], testColumns(c.Effect, f))
			}
			kept := make([]string, 3)
			if c.Kept > 0 {
				kept[0] = f(c.Kept)
			}
			if c.High > 0 {
				kept[1], kept[2] = f(c.Low), f(c.High)
			}
			line = slices.Concat(line, effect, make([]string, steadinessColumns), []string{row.Case, row.Row, r.Relative.Columns[i]}, kept, []string{c.Words})
			if err := out.Write(line); err != nil {
				return err
			}
		}
	}
	return nil
}

// testColumns are the tests of an effect, empty where one could not be made.
func testColumns(e *result.Effect, f func(float64) string) []string {
	out := make([]string, 6)
	if e.Confidence > 0 {
		out[0] = f(e.Confidence)
	}
	for i, p := range []*float64{e.P, e.Holm, e.Equivalence} {
		if p != nil {
			out[1+i] = f(*p)
		}
	}
	if e.Drift != nil {
		out[4], out[5] = f(e.Drift.PerBlock), f(e.Drift.P)
	}
	return out
}

// steadinessCells are how a row's launches went within their windows, empty where nothing is known.
func steadinessCells(s *result.Steadiness, f func(float64) string) []string {
	out := make([]string, steadinessColumns)
	if s == nil {
		return out
	}
	out[0] = string(s.Finding)
	if s.Launches > 0 {
		for i, n := range []int{s.Steady, s.Slowing, s.Speeding, s.Unsteady} {
			out[1+i] = f(float64(n) / float64(s.Launches))
		}
		out[5] = f(s.Worst)
	}
	return out
}
