package report

import (
	"encoding/csv"
	"io"
	"strconv"

	"tare/internal/overhead"
)

var csvHeader = []string{
	"run", "case", "kind", "workload", "metric", "unit", "better", "platform", "label", "baseline",
	"block", "trial", "value", "median", "n", "ratio", "ratio_low", "ratio_high", "overhead", "cost", "verdict",
}

// CSV writes a line for every launch and metric, with the row's effect repeated
// on each. What does not apply is empty.
func CSV(w io.Writer, r *overhead.Result) error {
	out := csv.NewWriter(w)
	if err := out.Write(csvHeader); err != nil {
		return err
	}
	f := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	for _, c := range r.Cases {
		for _, row := range c.Rows {
			effect := make([]string, 6)
			if e := row.Effect; e != nil {
				effect[5] = string(e.Verdict)
				if e.HasRatio() {
					copy(effect, []string{f(e.Ratio), f(e.Low), f(e.High), f(e.Overhead), f(e.Cost)})
				}
			}
			for _, p := range row.Points {
				line := []string{
					r.Run, c.Name, string(c.Kind), c.Workload, row.Metric.Name, row.Metric.Unit, string(row.Metric.Better),
					row.Platform, row.Label, strconv.FormatBool(row.Baseline),
					strconv.Itoa(p.Block), p.Trial, f(p.Value), f(row.Median), strconv.Itoa(row.N),
				}
				if err := out.Write(append(line, effect...)); err != nil {
					return err
				}
			}
		}
	}
	out.Flush()
	return out.Error()
}
