package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"tare/internal/analysis/audit"
	"tare/internal/analysis/compare"
	"tare/internal/bench/figure"
	"tare/internal/result"
)

// Comparison writes two sides as tables for a terminal: the headline metrics
// or, if all is set, every metric.
func Comparison(w io.Writer, c *compare.Comparison, all bool) error {
	doc := []block{append(runLines("A", c.A), runLines("B", c.B)...)}
	if n := len(c.Archive); n > 0 {
		doc = append(doc, lines{figure.Count(n, "archived run")})
	}
	doc = append(doc, text{"", "  ", c.Method})
	if words := speaksFor(c); words != "" {
		doc = append(doc, text{"", "  ", words})
	}
	further := 0
	var rows []changeRow
	for i := range c.Rows {
		r := &c.Rows[i]
		if !all && !r.Metric.Headline {
			further++
			continue
		}
		if n := len(rows); n > 0 && (rows[n-1].Title != r.Title || rows[n-1].Metric.Name != r.Metric.Name) {
			doc, rows = append(doc, changesText(rows)...), nil
		}
		rows = append(rows, changeRow{r, c.Relative || r.Relative != nil})
	}
	doc = append(doc, changesText(rows)...)
	if further > 0 {
		doc = append(doc, blank, lines{figure.Count(further, "row") + " of further metrics: --all"})
	}
	return writeBlocks(w, append(doc, differencesText(c)...))
}

func runLines(name string, runs []compare.Side) lines {
	var out lines
	for _, s := range runs {
		text := fmt.Sprintf("%s: %s, %s, %s, tare %s", name, s.Run, s.Experiment, s.Started, s.Tare)
		if s.Platform != "" {
			text = fmt.Sprintf("%s: %s in %s, %s, %s, tare %s", name, s.Platform, s.Run, s.Experiment, s.Started, s.Tare)
		}
		out = append(out, text)
	}
	return out
}

// speaksFor says what the changes are about; "" if there is none.
func speaksFor(c *compare.Comparison) string {
	switch c.SpeaksFor {
	case compare.TheseRuns:
		return "Speaks for these two runs only. For the platform: " + compare.MoreRuns + "."
	case compare.ThePlatform:
		if len(c.A) > 0 && c.A[0].Platform != "" {
			return "Speaks for the platform: both sides were measured in the same blocks of one run."
		}
		return "Speaks for the platform: what differs from one run to the next is in the intervals."
	}
	return ""
}

// changeRow is a row of a comparison; the values of a ratio have no unit.
type changeRow struct {
	*compare.Row
	ratio bool
}

// changesText is the table of a metric in a case.
func changesText(rows []changeRow) []block {
	if len(rows) == 0 {
		return nil
	}
	m := rows[0].Metric
	given := func(r changeRow) bool { return r.Change.Verdict != result.Refused && r.Change.Verdict != result.Unfair }
	return []block{blank, text{"", "", rows[0].Title}, table[changeRow]{rows: rows, columns: []column[changeRow]{
		{strings.ToUpper(m.Name), func(r changeRow) string { return result.Labelled(r.Platform, r.Label) }},
		{"MEDIAN A", func(r changeRow) string { return r.median(r.A) }},
		{"N", func(r changeRow) string { return launchesIn(r.A) }},
		{"MEDIAN B", func(r changeRow) string { return r.median(r.B) }},
		{"N", func(r changeRow) string { return launchesIn(r.B) }},
		{"B/A", func(r changeRow) string {
			if !given(r) {
				return ""
			}
			return figure.Fixed(r.Change.Ratio, 3)
		}},
		{intervalHead(rows), func(r changeRow) string {
			if !given(r) {
				return ""
			}
			return figure.Fixed(r.Change.Low, 3) + " to " + figure.Fixed(r.Change.High, 3)
		}},
		{"P", func(r changeRow) string { return pOf(r.Change.P) }},
		{"P, CORRECTED", func(r changeRow) string { return pOf(r.Change.Holm) }},
		{"B AGAINST A, " + strings.ToUpper(string(m.Better)) + " IS BETTER", func(r changeRow) string {
			if r.Change.Verdict == result.Unfair { // why stands below the tables, once for all rows
				return "no statement: the runs must not be compared"
			}
			return r.Change.Words
		}},
	}}}
}

// intervalHead is the head of the intervals: their level, if it is one.
func intervalHead(rows []changeRow) string {
	level := 0.0
	for _, r := range rows {
		if l := r.Change.Confidence; level == 0 || l == level {
			level = max(level, l)
		} else if l > 0 {
			return "INTERVAL"
		}
	}
	if level == 0 {
		return "INTERVAL"
	}
	return fmt.Sprintf("%.3g %% INTERVAL", 100*level)
}

func (r changeRow) median(v compare.Values) string {
	switch {
	case v.N() == 0:
		return "–"
	case r.ratio:
		return figure.Fixed(v.Median, 3)
	}
	return figure.Quantity(v.Median, r.Metric.Unit)
}

func launchesIn(v compare.Values) string {
	n := fmt.Sprint(v.N())
	if runs := len(v.Values); runs > 1 {
		n += fmt.Sprintf(" in %d", runs)
	}
	if v.Failed > 0 {
		n += fmt.Sprintf(" (%d failed)", v.Failed)
	}
	if v.Overdue > 0 {
		n += fmt.Sprintf(" (%d overdue)", v.Overdue)
	}
	if v.Alone > 0 {
		n += fmt.Sprintf(" (%d without neighbour)", v.Alone)
	}
	return n
}

func pOf(p *float64) string {
	if p == nil {
		return ""
	}
	return figure.Probability(*p)
}

// differencesText says what was not the same in both runs, each once for all the
// platforms it is so on.
func differencesText(c *compare.Comparison) []block {
	of := map[string][]string{} // platforms by text
	var order []string
	say := func(platform string, checks []audit.Check) {
		for _, k := range checks {
			if k.State == audit.Same || k.State == audit.Unknown {
				continue
			}
			words := fmt.Sprintf("%s: \x00%s: %s in A, %s in B: %s", k.State, k.Name, k.Baseline, k.Subject, k.Why)
			if of[words] == nil {
				order = append(order, words)
			}
			if !slices.Contains(of[words], platform) {
				of[words] = append(of[words], platform)
			}
		}
	}
	say("", c.Checks)
	for i := range c.Rows {
		say(c.Rows[i].Platform, c.Rows[i].Checks)
	}
	var doc []block
	if len(order) > 0 {
		doc = append(doc, blank, lines{"Not the same in both runs:"})
	}
	for _, words := range order {
		state, what, _ := strings.Cut(words, "\x00")
		if platforms := strings.Join(of[words], ", "); platforms != "" {
			what = platforms + ": " + what
		}
		doc = append(doc, text{"  " + state, "    ", what})
	}
	var unread []string
	for _, k := range c.Checks {
		if k.State == audit.Unknown {
			unread = append(unread, k.Name)
		}
	}
	if len(unread) > 0 {
		doc = append(doc, blank, text{"Not known on both sides, so not compared: ", "  ", strings.Join(unread, ", ")})
	}
	for _, only := range []struct {
		run  string
		what []string
	}{{"A", c.OnlyA}, {"B", c.OnlyB}} {
		if len(only.what) > 0 {
			doc = append(doc, blank, text{"Only in " + only.run + ": ", "  ", strings.Join(only.what, "; ")})
		}
	}
	return append(doc, warningsText(c.Warnings)...)
}

// Gate writes a gate's decision for a terminal, the rows that do not pass first.
func Gate(w io.Writer, g *compare.Gate) error {
	doc := []block{text{"", "  ", strings.ToUpper(string(g.Decision)) + ": " + gateWords(g)}}
	if words := speaksFor(g.Comparison); words != "" {
		doc = append(doc, text{"", "  ", words})
	}
	for _, d := range []compare.Decision{compare.Unfair, compare.Regression, compare.RegressionOfRuns, compare.Failed, compare.Undecided, compare.PassOfRuns, compare.Pass} {
		for i := range g.Rows {
			r := &g.Rows[i]
			if r.Decision != d {
				continue
			}
			doc = append(doc, blank, text{"  " + string(d) + ": ", "    ", fmt.Sprintf("%s of %s on %s: %s", r.Metric.Name, r.Title, r.Platform, r.Why)})
			if d != compare.Unfair && r.P != nil {
				doc = append(doc, text{"    ", "    ", "B against A: " + r.Words})
			}
			if r.Decide != "" {
				doc = append(doc, text{"    ", "    ", "would decide it: " + r.Decide})
			}
		}
	}
	doc = append(doc, differencesText(g.Comparison)...)
	return writeBlocks(w, append(doc, blank, text{"How to read a row: ", "  ", g.Method + "."}))
}

// gateWords is why the gate decides so: of several rows the first, for each is
// told below.
func gateWords(g *compare.Gate) string {
	why, n := g.Why, 0
	for i := range g.Rows {
		r := &g.Rows[i]
		if r.Decision != g.Decision || g.Decision == compare.Pass || g.Decision == compare.PassOfRuns {
			continue
		}
		if n++; n == 1 {
			why = fmt.Sprintf("%s of %s on %s: %s", r.Metric.Name, r.Title, r.Platform, r.Why)
		}
	}
	if n > 1 {
		return fmt.Sprintf("%s; and %s more", why, figure.Count(n-1, "row"))
	}
	return why
}
