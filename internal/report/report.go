// Package report shows the result of a run as text, HTML, JSON, CSV, JUnit or
// in the Go benchmark format, and two runs side by side. It renders; every number and every word about a number comes with the result.
package report

import (
	"encoding/json"
	"io"
	"slices"

	"tare/internal/bench/figure"
	"tare/internal/result"
)

// JSON writes the whole result.
func JSON(w io.Writer, r *result.Result) error { return IndentedJSON(w, r) }

// IndentedJSON writes v as JSON for people and programs.
func IndentedJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// value is a row's median with its unit.
func value(row result.Row) string {
	if row.N == 0 {
		return "–"
	}
	return figure.Quantity(row.Median, row.Metric.Unit)
}

// caveatsOf are the host's limits that matter to the numbers, each once.
func caveatsOf(facts []result.Fact) []string {
	var out []string
	for _, f := range facts {
		if f.Caveat != "" && !slices.Contains(out, f.Caveat) {
			out = append(out, f.Caveat)
		}
	}
	return out
}
