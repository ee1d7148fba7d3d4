package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"tare/internal/bench"
	"tare/internal/bench/figure"
	"tare/internal/result"
)

// Brief writes a result in short for a terminal: its sentences, one table and what to be careful
// about. [Text] with all has the rest.
func Brief(w io.Writer, r *result.Result) error {
	s := r.Summary
	doc := []block{text{"", "", r.Title}, text{"", "  ", briefMeta(r)}, blank}
	for _, words := range s.Sentences {
		doc = append(doc, text{"  ", "    ", words})
	}
	if len(s.Sentences) == 0 {
		doc = append(doc, said{"Nothing can be compared yet."})
	}
	doc = append(doc, blank)
	if tables := costTables(r); tables != nil {
		for _, t := range tables {
			doc = append(doc, t.text())
		}
		doc = append(doc, said{costNote(r)})
	}
	doc = append(doc, briefCautions(r)...)
	return writeBlocks(w, doc)
}

// briefMeta says what a result rests on.
func briefMeta(r *result.Result) string {
	words := fmt.Sprintf("%s; %s in %s", againstWords(r), decidedWords(r), figure.Span(r.Seconds))
	if r.Going {
		words += "; the run is still going on"
	}
	return words
}

// againstWords says what the costs are against.
func againstWords(r *result.Result) string {
	if s := r.Summary; s != nil && len(s.Costs) > 0 && !slices.ContainsFunc(s.Costs, func(c result.Cost) bool { return !c.Kept }) {
		return "each platform against itself"
	}
	if r.Lone() {
		return r.Baseline + " alone"
	}
	return "against " + r.Baseline
}

// decidedWords says how many of the comparisons are decided: "6 of 14 comparisons decided".
func decidedWords(r *result.Result) string {
	decided, of := 0, 0
	for e, dnf := range r.Headlines() {
		of++
		if dnf > 0 || e.Verdict == result.Differs || e.Verdict == result.Equivalent {
			decided++
		}
	}
	if of == 0 {
		return "nothing to compare"
	}
	return fmt.Sprintf("%d of %s decided", decided, figure.Count(of, "comparison"))
}

// mostCautions is how many are shown in short.
const mostCautions = 6

// briefCautions are a line each, but why launches failed and what to do about it, which may take three.
func briefCautions(r *result.Result) []block {
	cautions := r.Summary.Cautions
	if len(cautions) == 0 {
		return nil
	}
	doc := []block{blank}
	shown := cautions[:min(len(cautions), mostCautions)]
	for _, c := range shown {
		if len(r.Failures) > 0 && (strings.HasSuffix(c, r.Failures[0].Error) || c == "hint: "+r.Failures[0].Hint) {
			doc = append(doc, text{"! ", "  ", bothEnds(c, 3*textWidth-10)})
			continue
		}
		doc = append(doc, lines{cut("! "+c, textWidth)})
	}
	if left := len(cautions) - len(shown); left > 0 {
		doc = append(doc, lines{fmt.Sprintf("! %d more: --all", left)})
	}
	return doc
}

// bothEnds shortens a line to a width, at words in its middle: the cause of an error stands at its end.
func bothEnds(line string, width int) string {
	line = strings.Join(strings.Fields(line), " ")
	r := []rune(line)
	if len(r) <= width {
		return line
	}
	head, tail := string(r[:width/2-1]), string(r[len(r)-width/2+1:])
	if i := strings.LastIndexByte(head, ' '); i > 0 {
		head = head[:i]
	}
	if i := strings.IndexByte(tail, ' '); i >= 0 {
		tail = tail[i+1:]
	}
	return head + " … " + tail
}

// cut shortens a line to a width, at a word, with an ellipsis.
func cut(line string, width int) string {
	line = strings.Join(strings.Fields(line), " ")
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	short := string([]rune(line)[:width-1])
	if i := strings.LastIndexByte(short, ' '); i > width/2 {
		short = short[:i]
	}
	return short + "…"
}

// notAsked is in a cell of a platform that a kind of work was not asked of.
const notAsked = "not asked"

// costTable is a table of costs, its heads first.
type costTable struct {
	heads []string
	rows  [][]string
}

func (t costTable) text() block {
	heads := slices.Clone(t.heads)
	for i := range heads {
		heads[i] = strings.ToUpper(heads[i])
	}
	return table[[]string]{rows: t.rows, columns: cellsUnder(heads)}
}

// width is how wide it is in a terminal.
func (t costTable) width() int {
	sum := 0
	for i := range t.heads {
		most := utf8.RuneCountInString(t.heads[i])
		for _, row := range t.rows {
			most = max(most, utf8.RuneCountInString(row[i]))
		}
		sum += most + 2
	}
	return sum
}

// costTables are the costs, and apart from them what is left of the performance alone.
func costTables(r *result.Result) []costTable {
	var costs, kept []result.Cost
	for _, c := range r.Summary.Costs {
		if c.Kept {
			kept = append(kept, c)
		} else {
			costs = append(costs, c)
		}
	}
	return slices.Concat(tablesOf(r, "cost", costs, baselines(r)), tablesOf(r, "left of the performance alone", kept, nil))
}

// tablesOf are tables of costs: a row for each kind of work where the platforms fit beside each other, and
// otherwise a row for each platform, in as many tables as the kinds of work need. alone are the baseline's
// values by work.
func tablesOf(r *result.Result, title string, costs []result.Cost, alone map[string]string) []costTable {
	works, platforms := []string{}, []string{}
	cells := map[[2]string]string{}
	for _, c := range costs {
		if !slices.Contains(works, c.Work) {
			works = append(works, c.Work)
		}
		if !slices.Contains(platforms, c.Name()) {
			platforms = append(platforms, c.Name())
		}
		cells[[2]string{c.Work, c.Name()}] = c.Cell()
	}
	if len(works) == 0 {
		return nil
	}
	t := costTable{heads: append([]string{title, r.Baseline}, platforms...)}
	for _, work := range works {
		row := []string{work, alone[work]}
		for _, p := range platforms {
			row = append(row, cmp.Or(cells[[2]string{work, p}], notAsked))
		}
		t.rows = append(t.rows, row)
	}
	if len(alone) == 0 {
		t.heads = slices.Delete(t.heads, 1, 2)
		for i := range t.rows {
			t.rows[i] = slices.Delete(t.rows[i], 1, 2)
		}
	}
	if t.width() <= textWidth-2 || len(works) > 2*len(platforms) {
		return []costTable{t}
	}
	if len(alone) > 0 {
		for _, work := range works {
			cells[[2]string{work, r.Baseline}] = cmp.Or(alone[work], "–")
		}
		platforms = slices.Insert(platforms, 0, r.Baseline)
	}
	return turned(title, works, platforms, cells)
}

// turned are tables with a row for each platform.
func turned(title string, works, platforms []string, cells map[[2]string]string) []costTable {
	of := func(works []string) costTable {
		t := costTable{heads: append([]string{title}, works...)}
		for _, p := range platforms {
			row := []string{p}
			for _, work := range works {
				row = append(row, cmp.Or(cells[[2]string{work, p}], notAsked))
			}
			t.rows = append(t.rows, row)
		}
		return t
	}
	var all []costTable
	for from := 0; from < len(works); {
		to := from + 1
		for to < len(works) && of(works[from:to+1]).width() <= textWidth-2 {
			to++
		}
		all = append(all, of(works[from:to]))
		from = to
	}
	return all
}

// baselines are the baseline's medians by work. What is in turns has a ratio alone.
func baselines(r *result.Result) map[string]string {
	all := map[string]string{}
	for _, cost := range r.Summary.Costs {
		i := slices.IndexFunc(r.Cases, func(c result.Case) bool { return c.Name == cost.Case })
		if i < 0 || cost.Kept || cost.Metric.Name == bench.TurnMetrics[0].Name {
			continue
		}
		for _, row := range r.Headline(&r.Cases[i]) {
			if row.Baseline && row.N > 0 && row.Metric.Name == cost.Metric.Name {
				all[cost.Work] = value(row)
			}
		}
	}
	return all
}

// inverse says whether a cost is said as a part of one, which not every reader has met.
func inverse(c result.Cost) bool { return !c.Kept && strings.Contains(c.Short+" "+c.Bounds, "1/") }

const inverseNote = "1/2x is twice the rate or half the time"

// costNote says how to read the costs.
func costNote(r *result.Result) string {
	of := func(kept bool) bool {
		return slices.ContainsFunc(r.Summary.Costs, func(c result.Cost) bool { return c.Kept == kept })
	}
	note := "(a to b) the 95 % interval; ? is undecided, the interval alone"
	if of(false) {
		note = fmt.Sprintf("+ is slower or more, ±%s: no difference beyond that; %s", figure.Share(r.Margin), note)
	}
	if slices.ContainsFunc(r.Summary.Costs, inverse) {
		note += "; " + inverseNote
	}
	if of(true) {
		note = "of what is left 100 % is all; " + note
	}
	return note
}

// Markdown writes what [Brief] does, for a pull request or a page of notes.
func Markdown(w io.Writer, r *result.Result) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n%s\n\n", marked(r.Title), marked(capital(briefMeta(r))+"."))
	for _, words := range r.Summary.Sentences {
		fmt.Fprintf(&b, "- %s\n", marked(words))
	}
	if tables := costTables(r); tables != nil {
		for _, t := range tables {
			b.WriteString("\n" + markedRow(t.heads) + "\n|" + strings.Repeat(" --- |", len(t.heads)) + "\n")
			for _, row := range t.rows {
				b.WriteString(markedRow(row) + "\n")
			}
		}
		fmt.Fprintf(&b, "\nIn the table: %s.\n", marked(costNote(r))) // a line that begins with + would be a list
	}
	if len(r.Summary.Cautions) > 0 {
		fmt.Fprintf(&b, "\n<details><summary>%s</summary>\n\n", figure.Count(len(r.Summary.Cautions), "caution"))
		for _, c := range r.Summary.Cautions {
			fmt.Fprintf(&b, "- %s\n", marked(c))
		}
		b.WriteString("\n</details>\n")
	}
	fmt.Fprintf(&b, "\nRun %s, %s. Again: `%s`\n", marked(r.Run), marked(r.Started), strings.ReplaceAll(printable(r.Repeat), "`", "'"))
	_, err := io.WriteString(w, b.String())
	return err
}

func markedRow(cells []string) string {
	row := "|"
	for _, c := range cells {
		row += " " + marked(c) + " |"
	}
	return row
}

// marked keeps text from being markup, which text of runs and hosts may hold.
func marked(s string) string {
	s = strings.Join(strings.Fields(printable(s)), " ")
	return markup.Replace(s)
}

var markup = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "|", `\|`, "#", `\#`, "&", "&amp;", "~", `\~`)
