package report

import (
	"fmt"

	"tare/internal/bench/figure"
	"tare/internal/result"
)

func clocksText(rows []result.ClockRow) []block {
	if len(rows) == 0 {
		return nil
	}
	return []block{blank, lines{"Clocks inside, the worst of each platform's launches"}, table[result.ClockRow]{rows: rows, columns: []column[result.ClockRow]{
		{"PLATFORM", func(c result.ClockRow) string { return c.Platform }},
		{"KNOWN TO", func(c result.ClockRow) string { known, _ := clockBounds(c); return known }},
		{"DRIFT UP TO", func(c result.ClockRow) string { _, drift := clockBounds(c); return drift }},
		{"LAUNCHES", func(c result.ClockRow) string { return fmt.Sprint(c.Launches) }},
		{"AT FAULT", func(c result.ClockRow) string { return fmt.Sprint(c.Faults) }},
		{"READINGS REFUSED", func(c result.ClockRow) string { return fmt.Sprint(c.Refused) }},
	}}}
}

// clockBounds are how well the clocks of a row are known and their drift, if any can be trusted.
func clockBounds(c result.ClockRow) (known, drift string) {
	if c.Launches <= c.Faults {
		return "–", "–"
	}
	return figure.Fixed(c.Uncertainty, 3) + " ms", figure.Fixed(c.Drift, 1) + " ppm"
}
