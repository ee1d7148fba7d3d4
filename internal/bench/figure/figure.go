// Package figure formats numbers for people: rounded, with units, and with the nouns that they
// count.
package figure

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tare/internal/bench"
)

// Number formats v with four significant digits, or three where it is small, and grouped thousands.
// It has an exponent only where it is smaller than anything that is measured.
func Number(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "–"
	}
	a := math.Abs(v)
	switch {
	case a == 0:
		return "0"
	case a >= 1e-3:
		return Digits(v, 4)
	case a >= 1e-9:
		return Digits(v, 3)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// Digits formats v with n significant digits, all those before the point, and grouped thousands. It
// has no exponent and no zeros at the end.
func Digits(v float64, n int) string {
	a := math.Abs(v)
	if a == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return Number(v)
	}
	if a >= 1000 {
		return thousands(strconv.FormatFloat(v, 'f', 0, 64))
	}
	s := strconv.FormatFloat(v, 'f', max(0, n-1-int(math.Floor(math.Log10(a)))), 64)
	if strings.ContainsRune(s, '.') {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// least is the smallest probability that is told from others.
const least = 0.0005

// Probability writes a p value, or that it is below any that matters.
func Probability(p float64) string {
	if p < least {
		return "<0.0005"
	}
	return Digits(p, 2)
}

// P names a p value in a sentence: "p = 0.012", "p < 0.0005".
func P(p float64) string {
	if p < least {
		return "p < 0.0005"
	}
	return "p = " + Probability(p)
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

// Quantity formats a value with its unit. Sizes get binary multiples.
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
	return Number(v) + " " + Unit(unit)
}

// Unit is a unit as people write it: "µs" for "us".
func Unit(unit string) string {
	if unit == "us" {
		return "µs"
	}
	return unit
}

// Fixed formats v with the given number of digits after the point. It never writes "-0".
func Fixed(v float64, digits int) string {
	s := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Trim(s, "-0.") == "" {
		s = strings.TrimPrefix(s, "-")
	}
	return s
}

// Percent formats a fraction as a signed percentage.
func Percent(f float64) string {
	if math.Abs(f) >= 10 {
		return fmt.Sprintf("%+.0f %%", 100*f)
	}
	return fmt.Sprintf("%+.1f %%", 100*f)
}

// Share writes a share in percent, to three digits and without a sign, which would be
// read as a direction.
func Share(f float64) string { return Digits(100*f, 3) + " %" }

// Drift writes a fraction as a signed percentage of two digits: small ones count.
func Drift(f float64) string {
	s := Digits(100*f, 2) + " %"
	if f >= 0 {
		return "+" + s
	}
	return s
}

// Ratio writes a ratio to three decimals, or fewer where they say nothing.
func Ratio(r float64) string {
	if r >= 10 {
		return Number(r)
	}
	return Fixed(r, 3)
}

// Within writes a quantity with the most it may be off by.
func Within(v, bound float64, unit string) string {
	digits := 1
	if bound > 0 && bound < 0.1 {
		digits = 2
	}
	return Unbroken(Fixed(v, digits) + " ± " + Fixed(bound, digits) + " " + unit)
}

// Joules writes an energy with a prefix that suits it, to three digits.
func Joules(v float64) string {
	size, name := 1.0, "J"
	for _, u := range []struct {
		size float64
		name string
	}{{1e6, "MJ"}, {1e3, "kJ"}, {1, "J"}, {1e-3, "mJ"}, {1e-6, "µJ"}} {
		if math.Abs(v) >= u.size {
			size, name = u.size, u.name
			break
		}
	}
	v /= size
	digits := 2
	switch a := math.Abs(v); {
	case a >= 100:
		digits = 0
	case a >= 10:
		digits = 1
	}
	return Unbroken(Fixed(v, digits) + " " + name)
}

// Unbroken keeps a number and its unit on one line.
func Unbroken(s string) string { return strings.ReplaceAll(s, " ", "\u00a0") }

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

// Span writes seconds for people: 45 s, 6 min 20 s, 2 h 5 min.
func Span(seconds float64) string {
	n := int(seconds + 0.5)
	switch {
	case n < 60:
		return fmt.Sprintf("%d s", n)
	case n < 3600 && n%60 == 0:
		return fmt.Sprintf("%d min", n/60)
	case n < 3600:
		return fmt.Sprintf("%d min %d s", n/60, n%60)
	}
	return fmt.Sprintf("%d h %d min", n/3600, n%3600/60)
}
