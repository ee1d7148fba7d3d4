package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"tare/internal/audit"
	"tare/internal/compare"
	"tare/internal/figure"
	"tare/internal/result"
)

// Comparison writes two runs as tables for a terminal: the headline metrics
// or, if all is set, every metric.
func Comparison(w io.Writer, c *compare.Comparison, all bool) error {
	out := bufio.NewWriter(Plain(w))
	fmt.Fprintf(out, "A: %s, %s, %s, tare %s\n", c.A.Run, c.A.Experiment, c.A.Started, c.A.Tare)
	fmt.Fprintf(out, "B: %s, %s, %s, tare %s\n", c.B.Run, c.B.Experiment, c.B.Started, c.B.Tare)
	paragraph(out, "", "  ", c.Method)
	last, further := "", 0
	var t table
	for i := range c.Rows {
		r := &c.Rows[i]
		if !all && !r.Metric.Headline {
			further++
			continue
		}
		if head := r.Title + "\x00" + r.Metric.Name; head != last {
			t.write(out)
			t = table{}
			last = head
			fmt.Fprintln(out)
			paragraph(out, "", "", r.Title)
			t.row("  "+strings.ToUpper(r.Metric.Name), "MEDIAN A", "N", "MEDIAN B", "N", "B/A", "95 % INTERVAL", "P", "P (HOLM)", "B AGAINST A, "+strings.ToUpper(string(r.Metric.Better))+" IS BETTER")
		}
		t.row(changeCells(c, r)...)
	}
	t.write(out)
	if further > 0 {
		fmt.Fprintf(out, "\n%s of further metrics: --all\n", figure.Count(further, "row"))
	}
	differences(out, c)
	return out.Flush()
}

func changeCells(c *compare.Comparison, r *compare.Row) []string {
	side := func(v compare.Values) (string, string) {
		n := fmt.Sprint(len(v.Values))
		if v.Failed > 0 {
			n += fmt.Sprintf(" (%d failed)", v.Failed)
		}
		if v.Overdue > 0 {
			n += fmt.Sprintf(" (%d overdue)", v.Overdue)
		}
		switch {
		case len(v.Values) == 0:
			return "–", n
		case c.Relative, r.Kept != nil:
			return figure.Fixed(v.Median, 3), n
		}
		return figure.Quantity(v.Median, r.Metric.Unit), n
	}
	ma, na := side(r.A)
	mb, nb := side(r.B)
	ch := &r.Change
	mid, bounds, p, holm := "", "", "", ""
	if ch.Verdict != result.Refused && ch.Verdict != result.Unfair {
		mid, bounds = figure.Fixed(ch.Ratio, 3), figure.Fixed(ch.Low, 3)+" to "+figure.Fixed(ch.High, 3)
	}
	if ch.P != nil {
		p = figure.Number(*ch.P)
	}
	if ch.Holm != nil {
		holm = figure.Number(*ch.Holm)
	}
	words := ch.Words
	if ch.Verdict == result.Unfair { // why stands below the tables, once for all rows
		words = "no statement: the runs must not be compared"
	}
	return []string{"  " + labelled(r.Platform, r.Label), ma, na, mb, nb, mid, bounds, p, holm, words}
}

// differences says what was not the same in both runs, each once for all the
// platforms it is so on.
func differences(out io.Writer, c *compare.Comparison) {
	of := map[string][]string{} // platforms by text
	var order []string
	say := func(platform string, checks []audit.Check) {
		for _, k := range checks {
			if k.State == audit.Same || k.State == audit.Unknown {
				continue
			}
			text := fmt.Sprintf("%s: \x00%s: %s in A, %s in B: %s", k.State, k.Name, k.Baseline, k.Subject, k.Why)
			if of[text] == nil {
				order = append(order, text)
			}
			if !slices.Contains(of[text], platform) {
				of[text] = append(of[text], platform)
			}
		}
	}
	say("", c.Checks)
	for i := range c.Rows {
		say(c.Rows[i].Platform, c.Rows[i].Checks)
	}
	if len(order) > 0 {
		fmt.Fprintln(out, "\nNot the same in both runs:")
	}
	for _, text := range order {
		state, what, _ := strings.Cut(text, "\x00")
		if platforms := strings.Join(of[text], ", "); platforms != "" {
			what = platforms + ": " + what
		}
		paragraph(out, "  "+state, "    ", what)
	}
	var unread []string
	for _, k := range c.Checks {
		if k.State == audit.Unknown {
			unread = append(unread, k.Name)
		}
	}
	if len(unread) > 0 {
		paragraph(out, "\nNot known on both sides, so not compared: ", "  ", strings.Join(unread, ", "))
	}
	for _, only := range []struct {
		run  string
		what []string
	}{{"A", c.OnlyA}, {"B", c.OnlyB}} {
		if len(only.what) > 0 {
			paragraph(out, "\nOnly in "+only.run+": ", "  ", strings.Join(only.what, "; "))
		}
	}
	if len(c.Warnings) > 0 {
		fmt.Fprintln(out)
	}
	for _, n := range c.Warnings {
		paragraph(out, "! ", "  ", n)
	}
}

// Gate writes a gate's decision for a terminal, the rows that do not pass first.
func Gate(w io.Writer, g *compare.Gate) error {
	out := bufio.NewWriter(Plain(w))
	paragraph(out, "", "  ", strings.ToUpper(string(g.Decision))+": "+gateWords(g))
	for _, d := range []compare.Decision{compare.Unfair, compare.Regression, compare.Undecided, compare.Pass} {
		for i := range g.Rows {
			r := &g.Rows[i]
			if r.Decision != d {
				continue
			}
			paragraph(out, "\n  "+string(d)+": ", "    ", fmt.Sprintf("%s of %s on %s: %s", r.Metric.Name, r.Title, r.Platform, r.Why))
			if d != compare.Unfair && r.P != nil {
				paragraph(out, "    ", "    ", "B against A: "+r.Words)
			}
			if r.Decide != "" {
				paragraph(out, "    ", "    ", "would decide it: "+r.Decide)
			}
		}
	}
	if n := bounded(g); n > 0 {
		paragraph(out, "\n  ", "  ", boundsNote(n))
	}
	differences(out, g.Comparison)
	fmt.Fprintln(out)
	paragraph(out, "", "  ", g.Method)
	paragraph(out, "", "  ", g.Comparison.Method)
	return out.Flush()
}

// bounded counts the rows that have bounds.
func bounded(g *compare.Gate) (n int) {
	for i := range g.Rows {
		if g.Rows[i].P != nil {
			n++
		}
	}
	return n
}

// boundsNote says what the two kinds of bounds of a gate's row are, which do not
// have the same level.
func boundsNote(rows int) string {
	least := "the least holds for this row"
	if rows > 1 {
		least = fmt.Sprintf("the least holds for all %d rows at once, so for its own row at more", rows)
	}
	return "How to read a row: \"between ... and ...\" and \"at most\" are the least and the most by which it may be worse, each one-sided at 97.5 %: " + least +
		", the most for its row alone, which is enough as every row must pass. Behind \"B against A\" is the row's own interval, 95 % on both sides together."
}

// gateWords is why the gate decides so: of several rows the first, for each is
// told below.
func gateWords(g *compare.Gate) string {
	why, n := g.Why, 0
	for i := range g.Rows {
		r := &g.Rows[i]
		if r.Decision != g.Decision || g.Decision == compare.Pass {
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
