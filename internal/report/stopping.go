package report

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/bench/figure"
	"tare/internal/result"
)

// blocksOf says how many blocks were planned, or between which bounds.
func blocksOf(r *result.Result) string {
	if u := r.Until; u != nil {
		return fmt.Sprintf("%d to %s, until ±%s", u.Min, figure.Count(u.Max, "block"), figure.Share(u.Interval))
	}
	return figure.Count(r.Blocks, "block")
}

// soFar stands behind a number of trials to which a stopping rule may still add.
func soFar(r *result.Result) string {
	if r.Until != nil {
		return " asked for so far"
	}
	return ""
}

// stopOf says why a case ended, or that it goes on; nothing without a stopping rule.
func stopOf(r *result.Result, name string) string {
	for _, s := range r.Stops {
		switch {
		case s.Case != name:
		case s.Ended:
			return "Stopped: " + s.Why
		case s.Blocks == 0:
			return "Not ended yet: " + s.Why
		default:
			return fmt.Sprintf("Not ended after %s: %s", figure.Count(s.Blocks, "block"), s.Why)
		}
	}
	return ""
}

// stopText says why a case ended, where there is a stopping rule.
func stopText(r *result.Result, c result.Case) []block {
	if words := stopOf(r, c.Name); words != "" {
		return []block{said{words}}
	}
	return nil
}

// probability writes a p value.
func probability(p *float64) string {
	if p == nil {
		return "–"
	}
	return figure.Probability(*p)
}

// drift writes a trend and its p.
func drift(d *result.Drift) (perBlock, p string) {
	if d == nil {
		return "–", "–"
	}
	return fmt.Sprintf("%+.2f %%", 100*d.PerBlock), probability(&d.P)
}

// level writes the confidence of an effect's interval.
func level(e *result.Effect) string {
	if e.Confidence == 0 {
		return "–"
	}
	return figure.Share(e.Confidence)
}

// ofTotals writes the ratio of arithmetic means, which stands beside the geometric mean of ratios.
func ofTotals(e *result.Effect) string {
	if e.OfTotals == 0 {
		return "–"
	}
	return figure.Ratio(e.OfTotals)
}

// tested reports whether anything beside the interval is known of an effect.
func tested(e *result.Effect) bool {
	return e != nil && (e.P != nil || e.Equivalence != nil || e.Drift != nil)
}

// testsText is what the tests said, of all metrics of a case.
func testsText(rows []result.Row) block {
	known := slices.DeleteFunc(slices.Clone(rows), func(row result.Row) bool { return !tested(row.Effect) })
	return table[result.Row]{rows: known, columns: []column[result.Row]{
		{"", result.Row.Name},
		{"", func(row result.Row) string { return level(row.Effect) }},
		{"", func(row result.Row) string { return ofTotals(row.Effect) }},
		{"", func(row result.Row) string { return probability(row.Effect.P) }},
		{"", func(row result.Row) string { return probability(row.Effect.Holm) }},
		{"", func(row result.Row) string { return probability(row.Effect.Equivalence) }},
		{"", func(row result.Row) string { perBlock, _ := drift(row.Effect.Drift); return perBlock }},
		{"", func(row result.Row) string { _, p := drift(row.Effect.Drift); return p }},
	}, group: func(row result.Row) []string {
		return []string{"TESTS OF " + strings.ToUpper(row.Metric.Name), "INTERVAL AT", "RATIO OF TOTALS", "P", "CORRECTED", "P, ABOVE MARGIN", "DRIFT PER BLOCK", "P, DRIFT"}
	}}
}

// testsOf says the same of one effect in a line.
func testsOf(e *result.Effect) string {
	if !tested(e) {
		return ""
	}
	text := fmt.Sprintf("interval at %s; ratio of totals %s; no effect p %s", level(e), ofTotals(e), probability(e.P))
	if e.Holm != nil {
		text += ", corrected " + probability(e.Holm)
	}
	text += "; above the margin p " + probability(e.Equivalence)
	if e.Drift != nil {
		perBlock, p := drift(e.Drift)
		text += fmt.Sprintf("; drift %s per block, p %s", perBlock, p)
	}
	return text
}
