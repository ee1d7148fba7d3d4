package report

import (
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/bench"
	"tare/internal/result"
)

// besides is a table with everything a cell can be.
func besides() (*result.Matrix, []result.HostWatch) {
	rate := bench.Metric{Name: "throughput", Unit: "events/s", Better: bench.HigherIsBetter, Headline: true}
	late := bench.Metric{Name: "p95_latency", Unit: "ms", Better: bench.LowerIsBetter}
	cell := func(kept, low, high float64, words string) *result.MatrixCell {
		return &result.MatrixCell{Kept: kept, Low: low, High: high, Words: words, Launches: 3, N: 3, Effect: &result.Effect{Verdict: result.Differs}}
	}
	dnf := cell(0, 0, 0, "DNF 3 of 3")
	dnf.DNF, dnf.N = 3, 0
	dnf.Against = &result.Effect{Verdict: result.Refused, Words: "does not finish where native does"}
	some := cell(0.31, 0, 0, "31 %, DNF 1 of 3")
	some.DNF, some.N, some.Gone, some.Ended = 1, 2, 2, 1
	less := cell(0.4, 0.38, 0.42, "40 %")
	less.Against = &result.Effect{Verdict: result.Differs, Ratio: 0.8, Words: "keeps 20.0 % less than native (16.0 to 24.0)"}
	some.Effect.Verdict = result.Refused
	equal := cell(1, 0.98, 1.02, "100 %")
	equal.Against = &result.Effect{Verdict: result.Equivalent, Words: "as native"}
	m := &result.Matrix{Columns: []string{"idle", "competing", "adversarial"}, Rows: []result.MatrixRow{
		{Row: "CPU", Case: "cpu-alone", Platform: "native", Baseline: true, Metric: rate, Alone: 4000, N: 3, Cells: []*result.MatrixCell{cell(1.1, 1.05, 1.2, "110 %"), cell(0.5, 0.48, 0.52, "50 %"), cell(0.08, 0.07, 0.09, "8 %")}},
		{Row: "CPU", Case: "cpu-alone", Platform: "qemu-tcg", Label: "emulated (tcg)", Metric: rate, Alone: 400, N: 3, Cells: []*result.MatrixCell{equal, less, dnf}},
		{Row: "CPU", Case: "cpu-alone", Platform: "qemu-tcg", Label: "emulated (tcg)", Metric: late, Alone: 12, N: 3, Cells: []*result.MatrixCell{equal, nil, nil}},
		{Row: "disk", Case: "disk-alone", Platform: "lxc", Metric: rate, Cells: []*result.MatrixCell{nil, cell(0, 0, 0, "missing 3 of 3"), some}},
	}}
	return m, []result.HostWatch{
		{Case: "cpu-bomb", Title: "Finding primes, beside a fork bomb", Platform: "native", P50: 0.8, P99: 12.5, Max: 40, Starts: 300, Available: 20 * bench.GiB, Peak: 1000, Launches: 3},
		{Case: "cpu-bomb", Title: "Finding primes, beside a fork bomb", Platform: "lxc", P50: 3, P99: 1500, Max: 3000, Starts: 30, Available: bench.GiB, Peak: 700, OOMInside: 4, OOM: 1,
			Died: []string{"sshd (7)"}, Ended: []string{"b01-t02: no program was started within 1s for 3.1s"}, Overdue: 1, Launches: 3},
	}
}

// The map's figures are a table, too.
func TestFiguresOfTheMap(t *testing.T) {
	r := synthetic(t)
	r.Relative, _ = besides()
	_, page, _ := strings.Cut(renderHTML(t, r), "What is left of the performance, in figures")
	page, _, _ = strings.Cut(page, "</table>")
	for _, want := range []string{`<th scope="row">CPU, native</th><td>4`, "<td>50 % (48–52)</td>", `<th scope="col">adversarial</th>`, "<td>DNF 3 of 3</td>"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in %s", want, page)
		}
	}
	if strings.Contains(page, "p95_latency") {
		t.Error("what is not in the map is in its table")
	}
}

func TestHeatMap(t *testing.T) {
	m, _ := besides()
	svg := string(heatMap(m))
	for what, want := range map[string]int{
		`class="cell gain"`: 1, `class="cell k6"`: 1, `class="cell k3"`: 1, `class="cell k2"`: 1, `class="cell k0"`: 1, `class="cell dnf"`: 1, `class="cell dnf open"`: 1, `class="cell none"`: 1, `class="cell blank"`: 1,
		`class="group"`: 2, `class="column"`: 3, ">DNF 3 of 3</text>": 1, ">48–52</text>": 1, "emulated (tcg)</text>": 1,
		"CPU, qemu-tcg, emulated (tcg), competing: 40 % (38–42) of 400 events/s in cpu-alone; 3 of 3 launches; keeps 20.0 % less than native": 1,
	} {
		if got := strings.Count(svg, what); got != want {
			t.Errorf("%d times %s, want %d", got, what, want)
		}
	}
	if strings.Contains(svg, "latency") {
		t.Error("a metric that is not a headline is in the map")
	}
}

// What is lost colours a cell; the steps meet without a gap, and what reads alike has one colour.
func TestHeat(t *testing.T) {
	for kept, want := range map[float64]string{
		0: "none", 0.01: "k0", 0.0949: "k0", 0.0999: "k1", 0.1: "k1", 0.4996: "k3", 0.25: "k2", 0.5: "k3", 0.75: "k4", 0.9: "k5", 0.97: "k6", 1: "k6", 1.03: "k6", 1.04: "gain", 7: "gain",
	} {
		if got := heat(&result.MatrixCell{Kept: kept, Effect: &result.Effect{Verdict: result.Differs}}); got != want {
			t.Errorf("%v is %s, want %s", kept, got, want)
		}
	}
	if got := heat(&result.MatrixCell{Kept: 1, DNF: 1}); got != "dnf" {
		t.Errorf("one that did not finish once is %s", got)
	}
}

// A figure that decides nothing says so in text and has no colour in the map.
func TestUndecidedCells(t *testing.T) {
	for _, c := range []struct {
		cell *result.MatrixCell
		text string
		heat string
	}{
		{&result.MatrixCell{Kept: 29.99, Words: "2999 %", Effect: &result.Effect{Verdict: result.Refused}}, "2999 %, not compared", "none"},
		{&result.MatrixCell{Kept: 0.9, Low: 0.7, High: 1.1, Words: "90 %", Effect: &result.Effect{Verdict: result.Inconclusive}}, "90 % (70–110), undecided", "none"},
		{&result.MatrixCell{Kept: 0.9, Low: 0.8, High: 0.95, Words: "90 %", Effect: &result.Effect{Verdict: result.Differs}}, "90 % (80–95)", "k5"},
		{&result.MatrixCell{Kept: 39.4, Low: 31, High: 48.2, Words: "39.4 times", Effect: &result.Effect{Verdict: result.Differs}}, "39.4 times (31.0–48.2)", "gain"},
		{&result.MatrixCell{Kept: 0.9, Low: 1e-6, High: 1e6, Words: "90 %", Effect: &result.Effect{Verdict: result.Inconclusive, Low: 1e-6, High: 1e6}}, "90 % (scatters), undecided", "none"},
		{&result.MatrixCell{Words: "unfair: huge pages", Effect: &result.Effect{Verdict: result.Unfair}}, "unfair: huge pages", "none"},
	} {
		if got := cellText(c.cell); got != c.text {
			t.Errorf("%q, want %q", got, c.text)
		}
		if got := heat(c.cell); got != c.heat {
			t.Errorf("%s is %s, want %s", c.text, got, c.heat)
		}
	}
}

// A row without a cell in the column "alone" is what its others are set against, and no hole; elsewhere
// nothing was asked.
func TestReferenceIsNoHole(t *testing.T) {
	row := result.MatrixRow{Row: "pinned", Case: "alone-pinned", Platform: "native", N: 3, Alone: 12, Metric: bench.Metric{Unit: "events/s"}}
	if c := heatCell(row, "alone", nil); c.Words != "100 %" || c.Below != "the reference" || !strings.Contains(c.Title, "12 events/s in alone-pinned") {
		t.Errorf("%+v", c)
	}
	if c := heatCell(row, "competing", nil); c.Class != "blank" || c.Words != "" {
		t.Errorf("%+v", c)
	}
}

// What is otherwise than in the other scene is said once, caveats by platform,
// and the table names what it sets against.
func TestRelativeNotes(t *testing.T) {
	cell := &result.MatrixCell{Kept: 0.8, Differs: []string{"memory 1 GiB for 256 MiB"}, Effect: &result.Effect{Unfair: "huge pages (always against never): changed"}}
	rate := bench.Metric{Name: "iops", Headline: true}
	m := &result.Matrix{Columns: []string{"soft limit"}, Rows: []result.MatrixRow{
		{Row: "reads", Case: "hard", Platform: "native", Metric: rate, Cells: []*result.MatrixCell{cell}},
		{Row: "reads", Case: "hard", Platform: "podman[root=no]", Label: "limits ignored", Metric: rate, Caveats: []string{"not enforced: memory", "not enforced: swap"}, Cells: []*result.MatrixCell{cell}},
		{Row: "reads", Case: "hard", Platform: "lxc", Metric: rate, Cells: []*result.MatrixCell{{N: 3, Launches: 3,
			Effect: &result.Effect{Verdict: result.Refused, N: 3, Why: "launch b01-t03 gave 0, which has no ratio (so in 3 of 3 blocks)"}}}},
	}}
	if words := m.Rows[2].Cells[0].Say(); words != "no ratio" {
		t.Error(words)
	}
	want := []string{
		"reads, native, soft limit: unfair: huge pages (always against never): changed",
		"reads, podman[root=no], limits ignored, soft limit: unfair: huge pages (always against never): changed",
		"reads, lxc, soft limit: launch b01-t03 gave 0, which has no ratio (so in 3 of 3 blocks)",
		"reads, soft limit: differs from hard in: memory 1 GiB for 256 MiB",
		"podman[root=no], limits ignored: not enforced: memory; not enforced: swap",
	}
	if d := cmp.Diff(want, relativeNotes(m.Rows, m.Columns)); d != "" {
		t.Error(d)
	}
	if n := relativeNote(&result.Result{Relative: m}); !strings.Contains(n, `divided by that in "hard", in the same block`) {
		t.Error(n)
	}
}

// A line of the table in CSV names both scenes, and states no interval it does not have.
func TestRelativeCSV(t *testing.T) {
	r := &result.Result{Run: "r"}
	r.Relative, _ = besides()
	r.Relative.Rows[1].Cells[0] = &result.MatrixCell{Case: "soft", Words: "unfair: huge pages", Effect: &result.Effect{Verdict: result.Unfair}}
	var b strings.Builder
	if err := CSV(&b, r); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	if err != nil || len(lines) != 10 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	at := func(line int, column string) string { return lines[line][slices.Index(lines[0], column)] }
	for column, want := range map[string]string{
		"kind": "relative", "metric": "throughput", "platform": "native", "relative_to": "cpu-alone", "row": "CPU", "column": "idle",
		"kept": "1.1", "kept_low": "1.05", "kept_high": "1.2", "verdict": "differs", "says": "110 %", "block": "",
	} {
		if got := at(1, column); got != want {
			t.Errorf("%s is %q, want %q", column, got, want)
		}
	}
	if at(4, "kept") != "" || at(4, "verdict") != "unfair" || at(4, "label") != "emulated (tcg)" || at(4, "case") != "soft" {
		t.Errorf("%q", lines[4])
	}
	if last := lines[9]; at(9, "kept") != "0.31" || at(9, "kept_low") != "" || at(9, "ratio") != "" {
		t.Errorf("%q", last)
	}
}

// What the time of a containment ended is counted apart from what did not finish, in
// the page's head, its rows and its lists, and in text.
func TestOverdueInReports(t *testing.T) {
	rate := bench.Metric{Name: "rate", Headline: true}
	r := &result.Result{Title: "t", Trials: result.Counts{Planned: 6, Done: 3, DNF: 1, Overdue: 2},
		Overdue:    []result.Failure{{Trial: "b01-t01", Scene: "bomb/native", Phase: "measure", Error: "not through"}},
		Unfinished: []result.Failure{{Trial: "b01-t02", Scene: "bomb/lxc", Phase: "measure", Error: "crashed"}},
		Cases:      []result.Case{{Name: "bomb", Rows: []result.Row{{Metric: rate, Platform: "native", Baseline: true, N: 1, DNF: 1, Overdue: 2}}}},
	}
	var page, text strings.Builder
	if err := HTML(&page, r); err != nil {
		t.Fatal(err)
	}
	if err := Text(&text, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1 did not finish beside the neighbour, 2 ended by the containment's time limit", `<small class="fail">1 DNF</small><small>2 overdue</small>`,
		"Ended by the time limit of the containment", "b01-t01"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page has no %q", want)
		}
	}
	for _, want := range []string{"1 trial did not finish beside the neighbour:\n  b01-t02", "1 trial ended by the time limit of the containment:\n  b01-t01"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
}

// Paper has the notes on the cells, and not the other metrics, though nothing else may be folded there.
func TestNotesOnCellsAreOnPaper(t *testing.T) {
	r := synthetic(t)
	r.Relative, _ = besides()
	if page := renderHTML(t, r); strings.Count(page, `<details class="remarks">`) != 1 || !strings.Contains(page, ".remarks::details-content") {
		t.Error("the notes are not marked, or not opened")
	}
	r.Relative.Rows = r.Relative.Rows[1:3] // without one that has a note
	r.Relative.Rows[0].Cells = r.Relative.Rows[0].Cells[:1]
	r.Relative.Rows[1].Cells = r.Relative.Rows[1].Cells[:1]
	r.Relative.Columns = r.Relative.Columns[:1]
	if page := renderHTML(t, r); strings.Contains(page, `class="remarks"`) || !strings.Contains(page, "<summary>other metrics</summary>") {
		t.Error("other metrics are in the place of notes")
	}
}
