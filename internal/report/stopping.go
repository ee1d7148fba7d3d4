package report

import (
	"fmt"
	"io"
	"strings"

	"tare/internal/figure"
	"tare/internal/result"
)

// blocksOf says how many blocks were planned, or between which bounds.
func blocksOf(r *result.Result) string {
	if u := r.Until; u != nil {
		return fmt.Sprintf("%d to %s, until ±%.3g %%", u.Min, figure.Count(u.Max, "block"), 100*u.Interval)
	}
	return figure.Count(r.Blocks, "block")
}

// upTo stands before a number of missing trials that a stopping rule may still
// make unnecessary.
func upTo(r *result.Result) string {
	if r.Until != nil {
		return "up to "
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
		default:
			return fmt.Sprintf("Not ended after %s: %s", figure.Count(s.Blocks, "block"), s.Why)
		}
	}
	return ""
}

// probability writes a p value.
func probability(p *float64) string {
	switch {
	case p == nil:
		return "–"
	case *p < 0.0005:
		return "<0.0005"
	}
	return fmt.Sprintf("%.2g", *p)
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
	return fmt.Sprintf("%.3g %%", 100*e.Confidence)
}

// tested reports whether anything beside the interval is known of an effect.
func tested(e *result.Effect) bool {
	return e != nil && (e.P != nil || e.Equivalence != nil || e.Drift != nil)
}

// testsText writes what the tests said, a table of all metrics of a case.
func testsText(out io.Writer, rows []result.Row) {
	var t table
	last, any := "", false
	for _, row := range rows {
		e := row.Effect
		if !tested(e) {
			continue
		}
		if row.Metric.Name != last {
			last, any = row.Metric.Name, true
			t.row("  TESTS OF "+strings.ToUpper(last), "INTERVAL AT", "P", "P, HOLM", "P, EQUIVALENCE", "DRIFT PER BLOCK", "P, DRIFT")
		}
		perBlock, p := drift(e.Drift)
		t.row("  "+labelled(row.Platform, row.Label), level(e), probability(e.P), probability(e.Holm), probability(e.Equivalence), perBlock, p)
	}
	if any {
		t.write(out)
	}
}

// testsOf says the same of one effect in a line.
func testsOf(e *result.Effect) string {
	if !tested(e) {
		return ""
	}
	text := fmt.Sprintf("interval at %s; no effect p %s", level(e), probability(e.P))
	if e.Holm != nil {
		text += ", Holm " + probability(e.Holm)
	}
	text += "; equivalence p " + probability(e.Equivalence)
	if e.Drift != nil {
		perBlock, p := drift(e.Drift)
		text += fmt.Sprintf("; drift %s per block, p %s", perBlock, p)
	}
	return text
}
