package report

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"tare/internal/bench"
	"tare/internal/figure"
	"tare/internal/result"
)

// textWidth is the column at which running text is wrapped.
const textWidth = 120

// Text writes the result as tables for a terminal: the headline metric of each
// case or, if all is set, every metric.
func Text(w io.Writer, r *result.Result, all bool) error {
	out := bufio.NewWriter(Plain(w))
	paragraph(out, "", "", r.Title)
	paragraph(out, "", "  ", fmt.Sprintf("run %s, %s, %s, seed %d, baseline %s, equivalence within %.3g %%",
		r.Run, r.Started, blocksOf(r), r.Seed, r.Baseline, 100*r.Margin))
	if !r.Complete {
		fmt.Fprintf(out, "NOT COMPLETE: %s%d of %d trials have no outcome yet\n", upTo(r), r.Trials.Missing, r.Trials.Planned)
	}
	relativeText(out, r, all)
	watchText(out, r)
	further := 0
	audited := map[string]bool{} // by platform and text, what was said
	for _, c := range r.Cases {
		rows := c.Rows
		if !all {
			rows = headline(c)
			further += len(metricNames(c.Rows)) - len(metricNames(rows))
		}
		fmt.Fprintln(out)
		paragraph(out, "", "", c.Title)
		paragraph(out, "  ", "  ", c.Answer)
		if len(c.Conditions) > 0 {
			paragraph(out, "  ", "  ", "Conditions of the host: "+conditionsOf(c)+".")
		}
		if s := stopOf(r, c.Name); s != "" {
			paragraph(out, "  ", "  ", s)
		}
		effectsText(out, rows)
		for _, said := range fairnessOf(rows) {
			paragraph(out, "  ", "    ", said)
		}
		if all {
			testsText(out, rows)
		}
		for _, n := range notesOf(rows) {
			paragraph(out, "  - ", "    ", n.Of+": "+n.Text)
		}
		if all {
			auditText(out, c.Rows, audited)
		}
		crowdText(out, c, all)
		poolText(out, c)
		launchesText(out, c, all)
		latencyText(out, c, all)
		usageText(out, c, all)
		schedulingText(out, c, all)
		energyText(out, c, r.Power)
	}
	sweepsText(out, r.Sweeps)
	if further > 0 {
		fmt.Fprintf(out, "\n%s: --all, or --format html\n", figure.Count(further, "further metric"))
	}
	powerText(out, r.Power, all)
	balanceText(out, r, all)
	if all {
		clocksText(out, r.Clocks)
	}
	closing(out, r)
	return out.Flush()
}

func metricNames(rows []result.Row) map[string]bool {
	names := map[string]bool{}
	for _, row := range rows {
		names[row.Metric.Name] = true
	}
	return names
}

// conditionsOf are the conditions a case was measured under. Swap space is not
// always made for it, so what there was is said.
func conditionsOf(c result.Case) string {
	text := bench.ConditionsText(c.Conditions)
	if c.SwapSpaces != "" {
		text += " (swap spaces there: " + c.SwapSpaces + ")"
	}
	return text
}

func effectsText(out io.Writer, rows []result.Row) {
	var t table
	last := ""
	for _, row := range rows {
		if row.Metric.Name != last {
			last = row.Metric.Name
			t.row("  "+strings.ToUpper(last), "MEDIAN", "N", "RATIO", "95 % INTERVAL", strings.ToUpper(string(row.Metric.Better))+" IS BETTER")
		}
		mid, bounds := "", ""
		if e := row.Effect; e != nil && e.HasRatio() {
			mid, bounds = ratio(e.Ratio), interval(e)
		}
		t.row("  "+labelled(row.Platform, row.Label), value(row), fmt.Sprint(row.N), mid, bounds, effectWords(row))
	}
	t.write(out)
}

func usageText(out io.Writer, c result.Case, all bool) {
	if len(c.Usage) == 0 {
		return
	}
	var t table
	head := []string{"  CPU IN CORES", "GUEST", "LAYER", "REST OF HOST", "UNATTRIBUTED", "STEAL", "LAYER/GUEST", "MEMORY GUEST", "LAYER"}
	company := accompanied(c)
	if company {
		head = slices.Insert(head, 3, "OTHERS")
	}
	t.row(head...)
	for i := range c.Usage {
		u := &c.Usage[i]
		row := []string{"  " + labelled(u.Platform, u.Label), cores(u.GuestCPU), cores(u.LayerCPU),
			cores(u.RestCPU), unattributed(u), cores(u.StealCPU), overheadOf(u.CPUOverhead),
			amount(u.GuestMem, "bytes"), amount(u.LayerMem, "bytes")}
		if company {
			row = slices.Insert(row, 3, othersOf(u))
		}
		t.row(row...)
	}
	t.write(out)
	if company {
		paragraph(out, "  ", "  ", othersNote)
	}
	if all {
		trafficText(out, c)
		movesText(out, c)
	}
}

// movesText writes what a migration would move, as in table 2 of sharma2016.
func movesText(out io.Writer, c result.Case) {
	var t table
	t.row("  MIGRATION", "WOULD MOVE", "OF")
	for i := range c.Usage {
		u := &c.Usage[i]
		t.row("  "+labelled(u.Platform, u.Label), amount(u.Moves, "bytes"), figure.Quantity(u.Given, "bytes"))
	}
	t.write(out)
}

// trafficText writes what the host read and wrote, of it the guests' part.
func trafficText(out io.Writer, c result.Case) {
	var t table
	t.row("  DISK AND NETWORK", "READ GUEST", "LAYER", "HOST", "WRITTEN GUEST", "LAYER", "HOST", "RECEIVED", "SENT")
	for i := range c.Usage {
		u := &c.Usage[i]
		t.row("  "+labelled(u.Platform, u.Label),
			amount(u.GuestDiskRead, "bytes/s"), amount(u.LayerDiskRead, "bytes/s"), amount(u.DiskRead, "bytes/s"),
			amount(u.GuestDiskWrite, "bytes/s"), amount(u.LayerDiskWrite, "bytes/s"), amount(u.DiskWrite, "bytes/s"),
			amount(u.NetRx, "bytes/s"), amount(u.NetTx, "bytes/s"))
	}
	t.write(out)
}

func clocksText(out io.Writer, rows []result.ClockRow) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintln(out, "\nClocks inside, the worst of each platform's launches")
	var t table
	t.row("  PLATFORM", "KNOWN TO", "DRIFT UP TO", "LAUNCHES", "AT FAULT", "READINGS REFUSED")
	for _, c := range rows {
		known, drift := clockBounds(c)
		t.row("  "+c.Platform, known, drift, fmt.Sprint(c.Launches), fmt.Sprint(c.Faults), fmt.Sprint(c.Refused))
	}
	t.write(out)
}

// clockBounds are how well the clocks of a row are known and their drift, if any can be trusted.
func clockBounds(c result.ClockRow) (known, drift string) {
	if c.Launches <= c.Faults {
		return "–", "–"
	}
	return fmt.Sprintf("%.3f ms", c.Uncertainty), fmt.Sprintf("%.1f ppm", c.Drift)
}

// closing says what the tables do not.
func closing(out io.Writer, r *result.Result) {
	failuresText(out, unfinishedWords(r), r.Unfinished)
	failuresText(out, "ended when the time of the cage was over", r.Overdue)
	what := "did not finish"
	if len(r.Unfinished)+len(r.Overdue) > 0 {
		what = "failed for other reasons"
	}
	failuresText(out, what, r.Failures)
	if len(r.Skipped) > 0 {
		fmt.Fprintln(out)
	}
	for _, s := range bench.Together(r.Skipped) {
		paragraph(out, "left out: ", "  ", s.Platform+": "+s.Reason)
		if s.Hint != "" {
			paragraph(out, "  ", "  ", "hint: "+s.Hint)
		}
	}
	if notes := append(r.Warnings[:len(r.Warnings):len(r.Warnings)], caveatsOf(r.HostFacts)...); len(notes) > 0 {
		fmt.Fprintln(out)
		for _, n := range notes {
			paragraph(out, "! ", "  ", n)
		}
	}
	if r.SelfTest != nil {
		fmt.Fprintln(out)
		paragraph(out, "self-test of this program on this host: ", "  ", selfTestWords(r.SelfTest))
	}
}

// failuresText lists trials with their reasons, those of one reason together.
func failuresText(out io.Writer, what string, failures []result.Failure) {
	if len(failures) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s %s:\n", figure.Count(len(failures), "trial"), what)
	for n, f := range failures {
		alike := func(g result.Failure) bool { return g.Phase == f.Phase && g.Error == f.Error && g.Hint == f.Hint }
		if slices.IndexFunc(failures, alike) < n {
			continue // it was named with the first
		}
		var trials []string
		for _, g := range failures[n:] {
			if alike(g) {
				trials = append(trials, g.Trial+" "+g.Scene)
			}
		}
		paragraph(out, "  ", "    ", fmt.Sprintf("%s, in %s: %s", strings.Join(trials, ", "), f.Phase, f.Error))
		if f.Hint != "" {
			paragraph(out, "    ", "    ", "hint: "+f.Hint)
		}
	}
}

// paragraph writes running text in lines of textWidth, the first after first
// and the others after indent. A line break in the text is kept; a control
// character, which could drive the terminal, is not.
func paragraph(out io.Writer, first, indent, text string) {
	lead := first
	for _, part := range strings.Split(strings.TrimSpace(text), "\n") {
		line := lead
		empty := true
		for _, word := range strings.Fields(printable(part)) {
			if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > textWidth {
				fmt.Fprintln(out, line)
				line, empty = indent, true
			}
			if !empty {
				line += " "
			}
			line, empty = line+word, false
		}
		fmt.Fprintln(out, strings.TrimRight(line, " "))
		lead = indent
	}
}

// printable replaces control characters.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r < ' ', r >= 0x7f && r < 0xa0:
			return '\ufffd'
		}
		return r
	}, s)
}

// table is rows of cells set in columns.
type table struct{ b bytes.Buffer }

func (t *table) row(cells ...string) {
	for i, c := range cells {
		cells[i] = printable(strings.ReplaceAll(c, "\n", " "))
	}
	fmt.Fprintln(&t.b, strings.Join(cells, "\t"))
}

// write writes the table without blanks at the ends of its lines.
func (t *table) write(out io.Writer) {
	var set bytes.Buffer
	w := tabwriter.NewWriter(&set, 0, 0, 2, ' ', 0)
	w.Write(t.b.Bytes())
	w.Flush()
	for line := range strings.Lines(set.String()) {
		fmt.Fprintln(out, strings.TrimRight(line, " \n"))
	}
}
