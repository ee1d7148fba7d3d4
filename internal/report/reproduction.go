package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"

	"tare/internal/analysis/claims"
	"tare/internal/bench/figure"
	"tare/internal/papers"
	"tare/internal/result"
)

//go:embed reproduction.html
var reproductionText string

// othersMachine says what published numbers are.
const othersMachine = "Published absolute numbers are those of another machine: ratios are compared, absolute numbers are only shown."

// reproductionPage is what the template shows.
type reproductionPage struct {
	*claims.Document
	Style  template.CSS
	Title  string
	Note   string
	Papers []paperView
	Total  claims.Tally
}

// paperView is a paper on the page.
type paperView struct {
	*claims.Paper
	Anchor   string
	Words    string
	Standing []standing
	Measured []exhibitView
	Others   []exhibitView // of which nothing was measured
	SetUps   []exhibitView
	Ticks    []tickView // of all claims
	// Exhibits that could be measured, and how they are named together.
	Extent string
}

// standing is one sentence on where a paper stands here.
type standing struct{ About, Words string }

// exhibitView is an exhibit on the page.
type exhibitView struct {
	*claims.Exhibit
	Anchor   string
	Tally    claims.Tally
	Counts   string
	State    string
	Lacks    string
	Why      string
	Ticks    []tickView
	Figures  []figureView
	Bare     string // why there are none
	Tables   []numbersView
	Tabular  bool // the paper has a table, or numbers in its text
	Findings []findingView
	Cautions []string
	Beside   bool // its pictures leave room beside them
}

// tickView is a claim as a coloured letter.
type tickView struct{ Class, Letter, Title, Anchor string }

// findingView is a claim on the page.
type findingView struct {
	*claims.Finding
	Anchor, Class, Letter, Word string
	Size, Tested                string
	Shown, Further              []partView
}

// partView is a combination that a claim is about.
type partView struct{ What, Words, Size, Class, Letter, Word string }

// Reproduction writes what papers claim and what was measured of it as one page that needs nothing else.
func Reproduction(w io.Writer, d *claims.Document) error {
	t, err := template.New("reproduction").Funcs(template.FuncMap{
		"count": figure.Count, "join": strings.Join, "breakable": breakable,
	}).Parse(reproductionText)
	if err != nil {
		return fmt.Errorf("reproduction template: %w", err)
	}
	p := reproductionPage{Document: d, Style: template.CSS(styleText), Title: "What papers claim, measured here", Note: othersMachine}
	if len(d.Papers) == 1 {
		p.Title = d.Papers[0].Title
	}
	colours := coloursOf(d)
	for i := range d.Papers {
		p.Papers = append(p.Papers, paperOf(i, &d.Papers[i], colours))
		p.Total = sum(p.Total, d.Papers[i].Tally)
	}
	if err := t.Execute(w, p); err != nil {
		return fmt.Errorf("reproduction: %w", err)
	}
	return nil
}

func sum(a, b claims.Tally) claims.Tally {
	return claims.Tally{Holds: a.Holds + b.Holds, DoesNot: a.DoesNot + b.DoesNot, Undecided: a.Undecided + b.Undecided, NotAsked: a.NotAsked + b.NotAsked}
}

func paperOf(i int, p *claims.Paper, colours map[string]string) paperView {
	v := paperView{Paper: p, Anchor: fmt.Sprintf("paper-%d", i+1), Words: tallyWords(p.Tally), Standing: standingOf(p)}
	for k := range p.Exhibits {
		e := exhibitOf(fmt.Sprintf("%s-%d", v.Anchor, k+1), &p.Exhibits[k], colours)
		v.Ticks = append(v.Ticks, e.Ticks...)
		switch {
		case e.Exhibit.State.Kind == papers.Described:
			v.SetUps = append(v.SetUps, e)
		case e.Why != "":
			v.Others = append(v.Others, e)
		default:
			v.Measured = append(v.Measured, e)
		}
	}
	v.Extent = extent(len(v.Measured), len(v.Measured)+len(v.Others))
	return v
}

// extent says of how many exhibits something was measured.
func extent(measured, of int) string {
	return fmt.Sprintf("Something was measured of %d of %s.", measured, figure.Count(of, "exhibit"))
}

// tallyWords put the claims that hold over all: "3 of 9 claims hold here, 1 does not, ...".
func tallyWords(t claims.Tally) string {
	n := t.Holds + t.DoesNot + t.Undecided + t.NotAsked
	if n == 0 {
		return "no claims"
	}
	verb := "hold"
	if n == 1 {
		verb = "holds"
	}
	not := "do not"
	if t.DoesNot == 1 {
		not = "does not"
	}
	return fmt.Sprintf("%d of %s %s here, %d %s, %d undecided, %d not asked", t.Holds, figure.Count(n, "claim"), verb, t.DoesNot, not, t.Undecided, t.NotAsked)
}

// counts name the verdicts that there are: "2 hold, 1 does not, 3 not asked".
func counts(t claims.Tally) string {
	var parts []string
	for _, c := range []struct {
		n         int
		one, many string
	}{{t.Holds, "holds", "hold"}, {t.DoesNot, "does not", "do not"}, {t.Undecided, "undecided", "undecided"}, {t.NotAsked, "not asked", "not asked"}} {
		switch {
		case c.n == 1:
			parts = append(parts, "1 "+c.one)
		case c.n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.many))
		}
	}
	if parts == nil {
		return "no claims"
	}
	return strings.Join(parts, ", ")
}

// SizesWords are said of the sizes of claims that hold.
func (v paperView) SizesWords() string { return sizesWords(v.Sizes) }

// sizesWords say how many of the claims that hold have effects as large as published; "" without any.
func sizesWords(t claims.Tally) string {
	if t.Holds+t.DoesNot+t.Undecided == 0 {
		return ""
	}
	return fmt.Sprintf("Sizes published of what holds: %d as large here, %d not, %d undecided.", t.Holds, t.DoesNot, t.Undecided)
}

// mostNamed is how many claims a sentence names.
const mostNamed = 3

// standingOf says what holds and what does not, in the papers' order.
func standingOf(p *claims.Paper) []standing {
	var all []standing
	for _, v := range []struct {
		verdict claims.Verdict
		about   string
	}{{claims.DoesNot, "Does not hold here"}, {claims.Holds, "Holds here"}} {
		var says []string
		for i := range p.Exhibits {
			for _, f := range p.Exhibits[i].Findings {
				if said := strings.TrimSuffix(strings.TrimSpace(f.Says), ".") + "."; f.Verdict == v.verdict && !slices.Contains(says, said) {
					says = append(says, said)
				}
			}
		}
		if len(says) == 0 {
			continue
		}
		words := strings.Join(says[:min(mostNamed, len(says))], " ")
		if more := len(says) - mostNamed; more > 0 {
			words += fmt.Sprintf(" And %d more.", more)
		}
		all = append(all, standing{v.about, words})
	}
	if len(all) == 0 {
		words := "Nothing that it claims was measured."
		if p.Tally.Undecided > 0 {
			words = figure.Count(p.Tally.Undecided, "claim") + " measured, none decided yet."
		}
		all = append(all, standing{"Not known", words})
	}
	return all
}

func exhibitOf(anchor string, e *claims.Exhibit, colours map[string]string) exhibitView {
	v := exhibitView{Exhibit: e, Anchor: anchor, State: string(e.State.Kind), Lacks: lacks(e), Why: notMeasured(e), Tabular: e.Drawn == papers.Table || e.Drawn == papers.Text}
	for i := range e.Findings {
		f := findingOf(fmt.Sprintf("%s-claim-%d", anchor, i+1), &e.Findings[i])
		v.Tally.Add(f.Finding.Verdict)
		v.Findings = append(v.Findings, f)
		v.Ticks = append(v.Ticks, tickView{f.Class, f.Letter, f.Word + ": " + f.Says, f.Anchor})
	}
	v.Counts, v.Cautions = counts(v.Tally), cautionsOf(e)
	if v.Why == "" {
		if v.Figures = figuresOf(e, colours); len(v.Figures) == 0 {
			v.Bare = bare(e)
		}
	}
	v.Beside = !v.Tabular && len(v.Figures) > 0 && len(v.Findings) > 0 && !slices.ContainsFunc(v.Figures, func(f figureView) bool { return len(f.Panels) > 1 })
	v.Tables = numbersOf(e)
	return v
}

// lacks says what an exhibit's experiments lack, and which program stands in.
func lacks(e *claims.Exhibit) string {
	all := slices.Clone(e.State.Missing)
	if e.State.Instead != "" {
		all = append([]string{e.State.Instead}, all...)
	}
	return strings.Join(all, "; ")
}

// notMeasured says why nothing of an exhibit was measured; "" if something was.
func notMeasured(e *claims.Exhibit) string {
	for _, p := range e.Plots {
		if slices.ContainsFunc(p.Series, func(s claims.Series) bool { return measuredIn(&s) }) {
			return ""
		}
	}
	for _, f := range e.Findings {
		if f.Verdict != claims.NotAsked || slices.ContainsFunc(f.Parts, func(q claims.Part) bool { return q.N > 0 }) {
			return ""
		}
	}
	switch {
	case e.State.Kind == papers.Described:
		return "a set-up: the paper measures nothing in it"
	case e.State.Kind == papers.NotHere:
		return "not here: " + lacks(e)
	case len(e.Lacks) > 0:
		return "not run: " + strings.Join(e.Lacks, ", ")
	}
	for _, f := range e.Findings {
		if f.Why != "" {
			return f.Why
		}
	}
	return "nothing of it was measured"
}

// bare says why there is nothing to draw of an exhibit of which something was measured.
func bare(e *claims.Exhibit) string {
	var names []string
	for _, p := range e.Plots {
		for _, s := range p.Series {
			if measuredIn(&s) && !slices.Contains(names, s.Platform) {
				names = append(names, s.Platform)
			}
		}
	}
	if len(names) == 0 {
		return "The paper's metric was not measured."
	}
	return fmt.Sprintf("Only %s was measured: nothing can be set beside it.", strings.Join(names, ", "))
}

// measuredIn says whether a platform was measured at all.
func measuredIn(s *claims.Series) bool {
	return slices.ContainsFunc(s.Points, func(q claims.Point) bool { return q.N > 0 })
}

// cautionsOf are what has to be said with an exhibit's claims, each once.
func cautionsOf(e *claims.Exhibit) []string {
	var all []string
	for _, f := range e.Findings {
		for _, p := range f.Parts {
			if p.Caution != "" && !slices.Contains(all, p.Caution) {
				all = append(all, p.Caution)
			}
		}
	}
	return all
}

// verdicts are how verdicts are told apart: by class, letter and word.
var verdicts = map[claims.Verdict]struct{ class, letter, word string }{
	claims.Holds: {"holds", "✓", "holds"}, claims.DoesNot: {"fails", "✗", "does not hold"},
	claims.Undecided: {"open", "?", "undecided"}, claims.NotAsked: {"unasked", "·", "not asked"},
}

// mostParts are shown of a claim; the others are folded.
const mostParts = 3

func findingOf(anchor string, f *claims.Finding) findingView {
	m := verdicts[f.Verdict]
	v := findingView{Finding: f, Anchor: anchor, Class: m.class, Letter: m.letter, Word: m.word, Size: sizeWords(f.Size, f.Published)}
	if !strings.HasPrefix(f.Test, "none: ") { // Why says it
		v.Tested = f.Test
	}
	parts := judgedParts(f)
	for i := range parts {
		p := &parts[i]
		m := verdicts[p.Verdict]
		q := partView{What: p.What, Words: quantity(p), Class: m.class, Letter: m.letter, Word: m.word}
		if len(parts) > 1 {
			q.Size = sizesOfParts[p.Size]
		} else {
			q.Word = "" // the claim's
		}
		if len(v.Shown) < mostParts {
			v.Shown = append(v.Shown, q)
		} else {
			v.Further = append(v.Further, q)
		}
	}
	return v
}

// judgedParts are the parts of a claim that have a figure, those first that its verdict hangs on.
func judgedParts(f *claims.Finding) []claims.Part {
	var all []claims.Part
	for _, v := range []claims.Verdict{f.Verdict, claims.DoesNot, claims.Undecided, claims.Holds} {
		for _, p := range f.Parts {
			if p.Verdict == v && v != claims.NotAsked && !slices.ContainsFunc(all, func(o claims.Part) bool { return o.What == p.What }) {
				all = append(all, p)
			}
		}
	}
	return all
}

// sizeWords say whether an effect is as large as published: "as large as published, 0.9".
func sizeWords(v claims.Verdict, published []float64) string {
	said := ""
	if len(published) > 0 {
		low, high := slices.Min(published), slices.Max(published)
		said = numberOf(low)
		if high > low {
			said += " to " + numberOf(high)
		}
		if v == "" {
			return "published: " + said
		}
		said = " (" + said + ")"
	}
	switch v {
	case claims.Holds:
		return "as large as published" + said
	case claims.DoesNot:
		return "not as large as published" + said
	case claims.Undecided:
		return "undecided whether as large as published" + said
	}
	return ""
}

// sizesOfParts say the same of one of several combinations.
var sizesOfParts = map[claims.Verdict]string{claims.Holds: "as large", claims.DoesNot: "not as large", claims.Undecided: "size undecided"}

// quantity is what was measured of a part with its interval, as people say it: "0.93 (0.91 to 0.95)",
// of a slope "slope -0.12 (-0.15 to -0.09)", of a value alone with its unit.
func quantity(p *claims.Part) string {
	if p.N == 1 {
		one := *p
		one.N, one.Low, one.High = 0, 0, 0
		return quantity(&one) + ", of one block"
	}
	switch {
	case p.Slope:
		return "slope " + estimate(math.Log(p.Q), math.Log(p.Low), math.Log(p.High), p.Low > 0 && p.Low < p.High)
	case p.Unit == claims.Share:
		return estimate(100*p.Q, 100*p.Low, 100*p.High, p.Low < p.High) + " %"
	case p.Unit != "" && strings.HasPrefix(p.Unit, "bytes"):
		if p.Low < p.High {
			return fmt.Sprintf("%s (%s to %s)", figure.Quantity(p.Q, p.Unit), figure.Quantity(p.Low, p.Unit), figure.Quantity(p.High, p.Unit))
		}
		return figure.Quantity(p.Q, p.Unit)
	}
	text := estimate(p.Q, p.Low, p.High, p.Low < p.High)
	if p.Unit != "" {
		text += " " + figure.Unit(p.Unit)
	}
	return text
}

// scattered is the factor between the bounds of an interval that says nothing.
const scattered = 1000

// estimate is a value with its bounds, all to the digits that the bounds are apart in.
func estimate(mid, low, high float64, bounds bool) string {
	if !bounds {
		return numberOf(mid)
	}
	write := numberOf
	switch width, a := high-low, math.Abs(mid); {
	case low > 0 && high/low > scattered:
		return numberOf(mid) + " (scatters)"
	case width >= 10*a && low > 0: // little is known of it
		write = func(v float64) string { return figure.Digits(v, 2) }
	case a < 1000 && a > 0.02 && width > 0:
		least := 2
		switch {
		case a >= 100:
			least = 0
		case a >= 10:
			least = 1
		}
		digits := min(3, max(least, int(math.Ceil(-math.Log10(width)))))
		write = func(v float64) string { return figure.Fixed(v, digits) }
	}
	return fmt.Sprintf("%s (%s to %s)", write(mid), write(low), write(high))
}

// numberOf writes a number to three digits.
func numberOf(v float64) string { return figure.Digits(v, 3) }

// publishedWords are a paper's number: "at most 0.9", "8 331 MB/s".
func publishedWords(q papers.Published) string {
	text := numberOf(q.Value)
	if !q.IsRatio() {
		text = figure.Quantity(q.Value, q.Unit)
	}
	switch q.Bound {
	case "most":
		return "at most " + text
	case "least":
		return "at least " + text
	}
	return text
}

// seriesName is a platform by the paper's name, and what it is here where that has another.
func seriesName(s *claims.Series) string {
	name := s.Platform
	if s.Ours != "" && s.Ours != s.Platform {
		name += " (here " + s.Ours + ")"
	}
	return result.Labelled(name, s.Label)
}
