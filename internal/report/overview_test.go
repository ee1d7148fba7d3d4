package report

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/result"
)

// crowd is a result of so many platforms and kinds of work, each with so many blocks.
func crowd(platforms, works, blocks int) *result.Result {
	m := bench.Metric{Name: "throughput", Unit: "events/s", Better: bench.HigherIsBetter, Headline: true}
	r := &result.Result{Title: "A crowd", Baseline: "native", Margin: 0.03, Complete: true, Blocks: blocks}
	for w := range works {
		c := result.Case{Name: fmt.Sprintf("work-%d", w), Title: fmt.Sprintf("Work of kind %d", w), Kind: bench.One}
		points := make([]result.Point, blocks)
		for b := range points {
			points[b] = result.Point{Block: b + 1, Trial: fmt.Sprintf("b%02d-t%03d", b+1, w), Value: 100}
		}
		c.Rows = append(c.Rows, result.Row{Metric: m, Platform: "native", Baseline: true, N: blocks, Median: 100, Points: points})
		for p := range platforms {
			ratio := 1 - float64(p*w)/150
			e := &result.Effect{Ratio: ratio, Low: ratio * 0.98, High: ratio * 1.02, Verdict: result.Differs, Ratios: points, N: blocks}
			e.Words = e.Say(m, 0.03)
			c.Rows = append(c.Rows, result.Row{Metric: m, Platform: fmt.Sprintf("platform-%d", p), N: blocks, Median: 100 * ratio, Points: points, Effect: e})
		}
		r.Cases = append(r.Cases, c)
	}
	r.Summarize()
	return r
}

// What answers the question comes first: the sentences, the picture, then the cautions, and what is
// behind them is folded.
func TestFirstScreen(t *testing.T) {
	page := renderHTML(t, synthetic(t))
	first, rest, found := strings.Cut(page, `<section class="case">`)
	if !found {
		t.Fatal("there is no case")
	}
	at := -1
	for _, want := range []string{"<h1>", `<ul class="sentences">`, "<b>docker:</b> no difference", `<table class="overview"`, `<th scope="row">lxc</th>`, `<ul class="cautions">`, "7 of 175 trials failed"} {
		i := strings.Index(first, want)
		if i < at {
			t.Errorf("%q stands at %d, behind what came before it at %d", want, i, at)
		}
		at = i
	}
	for _, p := range []string{"Holm", "corrected", "above the margin p", "no effect p"} {
		if strings.Contains(first, p) {
			t.Errorf("the first screen speaks of %q", p)
		}
	}
	if !strings.HasPrefix(rest, "<details><summary>") {
		t.Errorf("a case is not folded: %.60s", rest)
	}
	// A click on a cell of the picture leads into the folded case, which opens it.
	if !regexp.MustCompile(`<a href="#case-1-cpu"><span class="word same">±3 %</span><svg`).MatchString(first) || !strings.Contains(rest, `</summary>`+"\n"+`<div id="case-1-cpu">`) {
		t.Error("the picture does not lead to the case")
	}
}

// The terminal's report of quick fits 40 lines: three platforms against native, seven kinds of work.
func TestBriefFitsATerminal(t *testing.T) {
	for _, c := range []struct{ platforms, works, most int }{{3, 7, 40}, {15, 8, 62}} {
		r := crowd(c.platforms, c.works, 8)
		for i := range 20 {
			r.Warnings = append(r.Warnings, fmt.Sprintf("warning %d %s", i, strings.Repeat("and so on ", 30)))
		}
		r.Summarize()
		var b bytes.Buffer
		if err := Brief(&b, r); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(b.String(), "\n"); n > c.most-4 { // the command adds where the page is and what may decide
			t.Errorf("%d platforms by %d kinds of work take %d lines:\n%s", c.platforms, c.works, n, b.String())
		}
		for line := range strings.Lines(b.String()) {
			if n := len([]rune(line)); n > textWidth+1 {
				t.Errorf("%d columns: %s", n, line)
			}
		}
	}
}

func TestMarkdown(t *testing.T) {
	r := crowd(2, 2, 5)
	r.Title, r.Warnings = "A | <b>crowd</b> `x`", []string{"[a](b)"}
	r.Repeat = "tare run `quick`"
	r.Summarize()
	var b bytes.Buffer
	if err := Markdown(&b, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"## A \\| &lt;b&gt;crowd&lt;/b&gt; \\`x\\`\n", "| cost | native | platform-0 | platform-1 |\n| --- | --- | --- | --- |\n| work 0 |", "- \\[a\\](b)\n", "\nIn the table: + is slower", "Again: `tare run 'quick'`\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// A page of 15 platforms by 8 kinds of work stays below a megabyte.
func TestPageOfManyPlatformsIsSmall(t *testing.T) {
	if n := len(renderHTML(t, crowd(15, 8, 12))); n > 1e6 {
		t.Errorf("%d bytes", n)
	}
}

var colour = regexp.MustCompile(`--([a-z]+): #([0-9a-f]{6})`)

// Every colour of text stands out from what it is on, by WCAG 2 level AA, light and dark.
func TestContrast(t *testing.T) {
	schemes := strings.SplitN(styleText, "@media (prefers-color-scheme: dark)", 2)
	for i, scheme := range schemes {
		scheme, _, _ = strings.Cut(scheme, "}")
		of := map[string]float64{}
		for _, m := range colour.FindAllStringSubmatch(scheme, -1) {
			of[m[1]] = luminance(t, m[2])
		}
		for _, text := range []string{"ink", "soft", "accent", "worse", "better", "same", "open"} {
			for _, on := range []string{"paper", "tint"} {
				a, b := of[text]+0.05, of[on]+0.05
				if ratio := math.Max(a, b) / math.Min(a, b); ratio < 4.5 {
					t.Errorf("scheme %d: %s on %s has a contrast of %.2f", i, text, on, ratio)
				}
			}
		}
	}
}

func luminance(t *testing.T, hex string) float64 {
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		v, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(v) / 255
		if c <= 0.03928 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

// Of a long error the short report has how it begins, and the cause at its end.
func TestBothEnds(t *testing.T) {
	long := "start [sysbench " + strings.Repeat("--option ", 60) + "] in subject: the daemon died (signal: killed)"
	got := bothEnds(long, 100)
	if len([]rune(got)) > 100 || !strings.HasPrefix(got, "start [sysbench --option") || !strings.HasSuffix(got, " … ] in subject: the daemon died (signal: killed)") {
		t.Errorf("%q", got)
	}
	if got := bothEnds("short  and\nplain", 100); got != "short and plain" {
		t.Errorf("%q", got)
	}
	if got := bothEnds(strings.Repeat("ü", 200), 100); len([]rune(got)) > 101 {
		t.Errorf("%d runes: %q", len([]rune(got)), got)
	}
}

// Where no figure is drawn there is neither an axis nor a legend to read it by.
func TestNothingDrawnHasNoLegend(t *testing.T) {
	r := crowd(2, 2, 2)
	refuse := func(c *result.Case) {
		for i := range c.Rows {
			if !c.Rows[i].Baseline {
				c.Rows[i].Effect = &result.Effect{Verdict: result.Refused, Ratios: []result.Point{}, Why: "only 1 block"}
			}
		}
	}
	axes := func() (legend bool, axes int) {
		r.Summarize()
		first, _, _ := strings.Cut(renderHTML(t, r), `<section class="case">`)
		foot := first[strings.Index(first, "<tfoot>"):]
		return strings.Contains(first, "Right is slower"), strings.Count(foot[:strings.Index(foot, "</tfoot>")], "<svg")
	}
	refuse(&r.Cases[0])
	if legend, n := axes(); !legend || n != 1 {
		t.Errorf("of two works with one figure: legend %v, %d axes", legend, n)
	}
	refuse(&r.Cases[1])
	if legend, n := axes(); legend || n != 0 {
		t.Errorf("of two works without: legend %v, %d axes", legend, n)
	}
}

// Where there are too many kinds of work for columns, each is a row with the baseline's value, and the
// platforms are the columns; a platform's cells say so where columns have no heads.
func TestManyKindsOfWorkAreRows(t *testing.T) {
	for _, c := range []struct {
		platforms, works int
		turned           bool
	}{{2, 8, false}, {2, 9, true}, {15, 9, false}} {
		r := crowd(c.platforms, c.works, 3)
		v := overviewOf(r, map[string]string{"work-3": "there"})
		columns, rows := c.works, c.platforms
		if c.turned {
			columns, rows = rows, columns
		}
		if len(v.Works) != columns || len(v.Rows) != rows || v.Width() != nameRoom+columnRoom*columns {
			t.Errorf("%v: %d columns by %d rows, %d wide", c, len(v.Works), len(v.Rows), v.Width())
		}
		for _, row := range v.Rows {
			if len(row.Cells) != columns {
				t.Errorf("%v: %d cells in %s", c, len(row.Cells), row.Name)
			}
		}
		if row := v.Rows[len(v.Rows)-1]; c.turned {
			if third := v.Rows[3]; third.Name != "work 3" || third.ID != "there" || third.Baseline != "native 100 events/s" {
				t.Errorf("%+v", third)
			}
			if row.Cells[0].Of != v.Works[0].Name || v.Works[0].Axis == "" || !strings.Contains(string(row.Cells[0].Plot), "platform-") {
				t.Errorf("%+v under %+v", row, v.Works[0])
			}
		} else if row.Cells[1].Of != "work 1, native 100 events/s" {
			t.Errorf("%v: %q", c, row.Cells[1].Of)
		}
	}
}
