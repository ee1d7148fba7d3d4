package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"tare/internal/analysis/claims"
	"tare/internal/bench/figure"
	"tare/internal/papers"
)

// claimsWidth is the column at which the text of a reproduction is wrapped.
const claimsWidth = 100

// narrow is running text in lines of claimsWidth.
type narrow text

func (n narrow) write(out io.Writer) { text(n).wrap(out, claimsWidth) }

// ReproductionText writes what was measured of one paper's claims for a terminal; of several papers
// a table, and the claims that are decided.
func ReproductionText(w io.Writer, d *claims.Document) error {
	if len(d.Papers) != 1 {
		return writeBlocks(w, papersText(d))
	}
	p := &d.Papers[0]
	doc := []block{narrow{"", "", p.ID + ": " + p.Title}, narrow{"  ", "  ", capital(tallyWords(p.Tally)) + "."}}
	if words := sizesWords(p.Sizes); words != "" {
		doc = append(doc, narrow{"  ", "  ", words})
	}
	doc = append(doc, narrow{"  ", "  ", othersMachine})
	for _, words := range p.Doubts {
		doc = append(doc, narrow{"  ! ", "    ", "The paper contradicts itself: " + words})
	}
	var others []*claims.Exhibit
	ids, verdicts := 0, 0 // their widths
	for i := range p.Exhibits {
		ids = max(ids, utf8.RuneCountInString(p.Exhibits[i].ID))
		if e := &p.Exhibits[i]; notMeasured(e) == "" {
			verdicts = max(verdicts, len(counts(tallyOf(e))))
		}
	}
	titles := max(20, claimsWidth-ids-len(papers.AsPublished)-verdicts-6)
	for i := range p.Exhibits {
		e := &p.Exhibits[i]
		if notMeasured(e) == "" {
			doc = append(doc, exhibitText(e, ids, titles)...)
		} else if e.State.Kind != papers.Described {
			others = append(others, e)
		}
	}
	if len(others) > 0 {
		doc = append(doc, blank, lines{"Nothing was measured of:"})
	}
	for _, e := range others {
		doc = append(doc, narrow{fmt.Sprintf("  %-*s  ", ids, e.ID), strings.Repeat(" ", ids+4), fmt.Sprintf("%s (%s): %s", e.Title, counts(tallyOf(e)), notMeasured(e))})
	}
	return writeBlocks(w, doc)
}

// tallyOf counts an exhibit's verdicts.
func tallyOf(e *claims.Exhibit) (t claims.Tally) {
	for _, f := range e.Findings {
		t.Add(f.Verdict)
	}
	return t
}

// exhibitText is a line for an exhibit, and its claims below; ids and titles are the widths of those.
func exhibitText(e *claims.Exhibit, ids, titles int) []block {
	doc := []block{blank, lines{fmt.Sprintf("%-*s  %-*s  %-*s  %s", ids, e.ID, titles, cut(e.Title, titles), len(papers.AsPublished), e.State.Kind, counts(tallyOf(e)))}}
	if words := lacks(e); words != "" {
		doc = append(doc, narrow{"    ", "    ", string(e.State.Kind) + ": " + words})
	}
	for _, words := range e.Doubts {
		doc = append(doc, narrow{"    ! ", "      ", "The paper contradicts itself: " + words})
	}
	for i := range e.Findings {
		doc = append(doc, findingText(&e.Findings[i])...)
	}
	for _, words := range cautionsOf(e) {
		doc = append(doc, narrow{"    ! ", "      ", words})
	}
	return doc
}

// verdictWidth is the width of the longest verdict, with what parts it from a claim.
const verdictWidth = 15

func findingText(f *claims.Finding) []block {
	lead := "    "
	under := strings.Repeat(" ", len(lead)+verdictWidth)
	doc := []block{narrow{fmt.Sprintf("%s%-*s", lead, verdictWidth, verdicts[f.Verdict].word), under, f.Says}}
	parts := judgedParts(f)
	for i := range parts[:min(mostParts, len(parts))] {
		p := &parts[i]
		words := p.What + ": " + quantity(p)
		if len(parts) > 1 && p.Verdict != f.Verdict {
			words += ", " + verdicts[p.Verdict].word
		}
		doc = append(doc, narrow{under + "  ", under + "    ", words})
	}
	if more := len(parts) - mostParts; more > 0 {
		doc = append(doc, narrow{under + "  ", "", fmt.Sprintf("and %d more", more)})
	}
	for _, words := range []string{sizeWords(f.Size, f.Published), f.Why} {
		if words != "" {
			doc = append(doc, narrow{under, under, words})
		}
	}
	if f.But != "" {
		doc = append(doc, narrow{under, under, "to bear in mind: " + f.But})
	}
	return doc
}

// paperRow is a line of the table of several papers.
type paperRow struct {
	name  string
	tally claims.Tally
}

// papersText is a table of papers, and what was decided.
func papersText(d *claims.Document) []block {
	var rows []paperRow
	var all claims.Tally
	for i := range d.Papers {
		rows = append(rows, paperRow{d.Papers[i].ID, d.Papers[i].Tally})
		all = sum(all, d.Papers[i].Tally)
	}
	rows = append(rows, paperRow{"all", all})
	number := func(of func(claims.Tally) int) func(paperRow) string {
		return func(r paperRow) string { return fmt.Sprint(of(r.tally)) }
	}
	doc := []block{lines{figure.Count(len(d.Papers), "paper") + ": " + tallyWords(all) + "."}, narrow{"", "", othersMachine}, blank, table[paperRow]{rows: rows, columns: []column[paperRow]{
		{"PAPER", func(r paperRow) string { return r.name }},
		{"HOLD HERE", number(func(t claims.Tally) int { return t.Holds })},
		{"DO NOT", number(func(t claims.Tally) int { return t.DoesNot })},
		{"UNDECIDED", number(func(t claims.Tally) int { return t.Undecided })},
		{"NOT ASKED", number(func(t claims.Tally) int { return t.NotAsked })},
	}}}
	for i := range d.Papers {
		p := &d.Papers[i]
		var decided []block
		for k := range p.Exhibits {
			e := &p.Exhibits[k]
			for _, f := range e.Findings {
				if f.Verdict != claims.Holds && f.Verdict != claims.DoesNot {
					continue
				}
				words := e.ID + ": " + f.Says
				if parts := judgedParts(&f); len(parts) > 0 {
					words += " " + parts[0].What + ": " + quantity(&parts[0])
					if more := len(parts) - 1; more > 0 {
						words += fmt.Sprintf(", and %d more", more)
					}
				}
				decided = append(decided, narrow{fmt.Sprintf("  %-*s", verdictWidth, verdicts[f.Verdict].word), strings.Repeat(" ", 2+verdictWidth), words})
			}
		}
		if decided != nil {
			doc = append(append(doc, blank, narrow{"", "  ", p.ID + ": " + p.Title}), decided...)
		}
	}
	return doc
}

// ReproductionMarkdown writes papers with their exhibits and claims for a page of notes.
func ReproductionMarkdown(w io.Writer, d *claims.Document) error {
	var b strings.Builder
	for i := range d.Papers {
		p := &d.Papers[i]
		fmt.Fprintf(&b, "## %s: %s\n\n%s\n\n", marked(p.ID), marked(p.Title), marked(capital(tallyWords(p.Tally))+". "+sizesWords(p.Sizes)))
		for _, s := range standingOf(p) {
			fmt.Fprintf(&b, "- **%s:** %s\n", marked(s.About), marked(s.Words))
		}
		b.WriteString("\n| exhibit | | state | hold | do not | undecided | not asked |\n|" + strings.Repeat(" --- |", 7) + "\n")
		for k := range p.Exhibits {
			e := &p.Exhibits[k]
			t := tallyOf(e)
			b.WriteString(markedRow([]string{e.ID, e.Title, string(e.State.Kind), fmt.Sprint(t.Holds), fmt.Sprint(t.DoesNot), fmt.Sprint(t.Undecided), fmt.Sprint(t.NotAsked)}) + "\n")
		}
		b.WriteString("\n| exhibit | claim | here | measured | published |\n|" + strings.Repeat(" --- |", 5) + "\n")
		for k := range p.Exhibits {
			e := &p.Exhibits[k]
			for n := range e.Findings {
				f := &e.Findings[n]
				if f.Verdict == claims.NotAsked {
					continue
				}
				var parts []string
				for _, q := range judgedParts(f) {
					parts = append(parts, q.What+": "+quantity(&q))
				}
				if len(parts) > mostParts {
					parts = append(parts[:mostParts], fmt.Sprintf("and %d more", len(parts)-mostParts))
				}
				b.WriteString(markedRow([]string{e.ID, f.Says, verdicts[f.Verdict].word, strings.Join(parts, "; "), sizeWords(f.Size, f.Published)}) + "\n")
			}
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%s\n", marked(othersMachine))
	for _, r := range d.Runs {
		fmt.Fprintf(&b, "\nRun %s, %s. Again: `%s`\n", marked(r.Dir), marked(r.Started), strings.ReplaceAll(printable(r.Repeat), "`", "'"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
