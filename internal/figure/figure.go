// Package figure writes numbers for people: rounded, with their units, and with
// the nouns that they count.
package figure

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tare/internal/bench"
)

// Number writes v with four significant digits, and thousands set apart.
func Number(v float64) string {
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

// Quantity writes a value with its unit, sizes with binary multiples.
func Quantity(v float64, unit string) string {
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
	return Number(v) + " " + unit
}

// Fixed writes v with so many digits after the point, and no zero as negative.
func Fixed(v float64, digits int) string {
	s := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Trim(s, "-0.") == "" {
		s = strings.TrimPrefix(s, "-")
	}
	return s
}

// Percent writes a fraction as a signed percentage.
func Percent(f float64) string {
	if math.Abs(f) >= 10 {
		return fmt.Sprintf("%+.0f %%", 100*f)
	}
	return fmt.Sprintf("%+.1f %%", 100*f)
}

// Count writes n with the noun: "1 block", "3 launches".
func Count(n int, noun string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(noun, "ch"):
		noun += "es"
	default:
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}
