package report

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/figure"
	"tare/internal/result"
)

// note is something to be known of rows of a case, said once for all of them.
type note struct {
	Of   string // whose rows: the platforms and, unless it is all of them, the metrics
	Text string
}

// notesOf gathers what is said of the rows of a case: why an effect was
// refused or is in doubt, what its sides do not share, and warnings. Metrics
// are named where a note does not hold for every metric shown.
func notesOf(rows []result.Row) []note {
	type key struct{ platform, text string }
	var metrics, all []string
	var keys []key
	held := map[key][]string{}
	for _, row := range rows {
		if !slices.Contains(metrics, row.Metric.Name) {
			metrics = append(metrics, row.Metric.Name)
		}
		if name := labelled(row.Platform, row.Label); !slices.Contains(all, name) {
			all = append(all, name)
		}
		for _, text := range said(row) {
			k := key{labelled(row.Platform, row.Label), text}
			if held[k] == nil {
				keys = append(keys, k)
			}
			if !slices.Contains(held[k], row.Metric.Name) {
				held[k] = append(held[k], row.Metric.Name)
			}
		}
	}
	var notes []note
	platforms := map[[2]string][]string{} // by text and metrics
	var order [][2]string
	for _, k := range keys {
		of := ""
		switch {
		case len(held[k]) == len(metrics):
		case len(held[k]) > 3:
			of = fmt.Sprintf(" (%d of %d metrics)", len(held[k]), len(metrics))
		default:
			of = " (" + strings.Join(held[k], ", ") + ")"
		}
		id := [2]string{k.text, of}
		if platforms[id] == nil {
			order = append(order, id)
		}
		platforms[id] = append(platforms[id], k.platform)
	}
	for _, id := range order {
		if len(platforms[id]) == len(all) && len(all) > 1 {
			platforms[id] = []string{"all platforms"}
		}
		notes = append(notes, note{strings.Join(platforms[id], "; ") + id[1], id[0]})
	}
	return notes
}

// said is everything a row wants known beside its numbers.
func said(row result.Row) []string {
	var texts []string
	if e := row.Effect; e != nil {
		for _, text := range []string{unfair(e), e.Why, e.Caution} {
			if text != "" {
				texts = append(texts, text)
			}
		}
	}
	return append(texts, row.Warnings...)
}

// effectWords says a row's effect without what its notes say.
func effectWords(row result.Row) string {
	e := row.Effect
	switch {
	case row.Baseline:
		return "baseline"
	case e == nil:
		return "nothing to compare with"
	case e.Verdict == result.Refused:
		return "no statement"
	case e.Verdict == result.Unfair:
		return "no comparison"
	}
	return strings.TrimSuffix(e.Words, " ["+e.Caution+"]")
}

// ratio writes a ratio to three decimals, or fewer where they say nothing.
func ratio(r float64) string {
	if r >= 10 {
		return figure.Number(r)
	}
	return figure.Fixed(r, 3)
}

// interval writes the bounds of an effect.
func interval(e *result.Effect) string { return ratio(e.Low) + " to " + ratio(e.High) }

// headline are the rows of the metrics that speak for a case, or of all if none does.
func headline(c result.Case) []result.Row {
	var rows []result.Row
	for _, row := range c.Rows {
		if row.Metric.Headline {
			rows = append(rows, row)
		}
	}
	if rows == nil {
		return c.Rows
	}
	return rows
}

// selfTestWords cites the self-test of the run's host in a line: how many claims
// hold, which do not, when that was found and where it is told.
func selfTestWords(t *result.SelfTest) string {
	parts := map[string][]string{} // by what became of their claims
	first, last := "", ""
	for _, c := range t.Claims {
		parts[c.Held] = append(parts[c.Held], c.Part)
		day := fmt.Sprintf("%.10s", c.Date)
		if first == "" || day < first {
			first = day
		}
		last = max(last, day)
	}
	found := []string{fmt.Sprintf("%d of %s hold", len(parts["yes"]), figure.Count(len(t.Claims), "claim"))}
	for _, k := range []struct{ held, words string }{{"no", "NOT"}, {"open", "undecided"}} {
		if of := parts[k.held]; len(of) > 0 {
			found = append(found, fmt.Sprintf("%d %s (%s)", len(of), k.words, strings.Join(slices.Compact(of), ", ")))
		}
	}
	when := first
	if last != first {
		when += " to " + last
	}
	return fmt.Sprintf("%s; found %s; tare selftest show", strings.Join(found, ", "), when)
}

// claimWords cites one number of the self-test of the run's host.
func claimWords(c result.SelfTestClaim) string {
	held := map[string]string{"yes": "holds", "no": "does NOT hold", "open": "undecided"}[c.Held]
	return fmt.Sprintf("%s; %s; %s (%s; %.10s, tare %s)", c.Claim, c.Found, held, c.Rests, c.Date, c.Tare)
}
