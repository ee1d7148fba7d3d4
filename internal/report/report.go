// Package report shows the result of a run as text, HTML, JSON, CSV, JUnit or
// in the Go benchmark format, and two runs side by side. It renders; every number and every word about a number comes with the result.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"tare/internal/bench"
	"tare/internal/overhead"
)

// JSON writes the whole result.
func JSON(w io.Writer, r *overhead.Result) error { return IndentedJSON(w, r) }

// IndentedJSON writes v as JSON for people and programs.
func IndentedJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// number writes v with four significant digits, and thousands set apart.
func number(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "–"
	}
	a := math.Abs(v)
	switch {
	case a == 0:
		return "0"
	case a >= 1000:
		return thousands(strconv.FormatFloat(v, 'f', 0, 64))
	case a >= 1e-3:
		s := strconv.FormatFloat(v, 'f', max(0, 3-int(math.Floor(math.Log10(a)))), 64)
		if strings.ContainsRune(s, '.') {
			s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
		}
		return s
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// thousands puts a narrow space between groups of three digits.
func thousands(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return sign + s
}

// quantity writes a value with its unit, sizes with binary multiples.
func quantity(v float64, unit string) string {
	switch unit {
	case "bytes":
		return bench.Bytes(v).String()
	case "bytes/s":
		return bench.Bytes(v).String() + "/s"
	case "rounds", "times":
		if v == 1 {
			unit = strings.TrimSuffix(unit, "s")
		}
	}
	return number(v) + " " + unit
}

// decimals writes v with n digits after the point.
func decimals(v float64, n int) string { return strconv.FormatFloat(v, 'f', n, 64) }

// value is a row's median with its unit.
func value(row overhead.Row) string {
	if row.N == 0 {
		return "–"
	}
	return quantity(row.Median, row.Metric.Unit)
}

// caveatsOf are the host's limits that matter to the numbers, each once.
func caveatsOf(facts []overhead.Fact) []string {
	var out []string
	for _, f := range facts {
		if f.Caveat != "" && !slices.Contains(out, f.Caveat) {
			out = append(out, f.Caveat)
		}
	}
	return out
}

// percent writes a fraction as a signed percentage.
func percent(f float64) string {
	if math.Abs(f) >= 10 {
		return fmt.Sprintf("%+.0f %%", 100*f)
	}
	return fmt.Sprintf("%+.1f %%", 100*f)
}

// plural writes n with the noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	ending := "s"
	if strings.HasSuffix(noun, "ch") {
		ending = "es"
	}
	return strconv.Itoa(n) + " " + noun + ending
}

// labelled is a platform's name wearing its label, wherever it is shown.
func labelled(name, label string) string {
	if label == "" {
		return name
	}
	return name + ", " + label
}
