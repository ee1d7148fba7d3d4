package report

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/result"
)

// A run under a stopping rule says its bounds, why each case ended and what
// was not needed, as text and as a page.
func TestReportsSayWhyACaseEnded(t *testing.T) {
	r := synthetic(t)
	r.Until = &bench.Until{Interval: 0.03, Min: 5, Max: 30, Looks: []int{5, 30}}
	r.Trials.NotNeeded = 14
	r.Stops = []result.Stop{
		{Case: r.Cases[0].Name, Blocks: 5, Ended: true, Settled: true, Why: "after 5 blocks every interval is within ±3 %"},
		{Case: r.Cases[1].Name, Blocks: 6, Why: "goes on: the next look is after 30 blocks"},
	}
	if got := stopOf(&result.Result{Stops: []result.Stop{{Case: "a", Why: "goes on"}}}, "a"); got != "Not ended yet: goes on" {
		t.Errorf("of no block: %s", got)
	}
	var text bytes.Buffer
	if err := Text(&text, r); err != nil {
		t.Fatal(err)
	}
	page := renderHTML(t, r)
	for _, want := range []string{"5 to 30 blocks, until ±3 %", "Stopped: after 5 blocks every interval is within ±3 %",
		"Not ended after 6 blocks: goes on: the next look is after 30 blocks", " asked for so far have no outcome yet"} {
		if !strings.Contains(text.String(), want) || !strings.Contains(page, want) {
			t.Errorf("%q: in the text %v, on the page %v", want, strings.Contains(text.String(), want), strings.Contains(page, want))
		}
	}
	if n := strings.Count(text.String(), "Stopped: ") + strings.Count(text.String(), "Not ended "); n != 2 {
		t.Errorf("%d cases of 2 say how they stand", n)
	}
	if !strings.Contains(page, "14 more not needed") {
		t.Error("the page does not say what was not needed")
	}
}

// What the self-test found on the host is cited in every form: in text by one
// sentence, what does not hold so that it is seen.
func TestReportsCiteTheSelfTest(t *testing.T) {
	r := synthetic(t)
	r.SelfTest = &result.SelfTest{Claims: []result.SelfTestClaim{
		{Part: "aa", Date: "2026-01-02T03:04:05Z", Tare: "9", RestsOn: "60 comparisons, fewer than 200", Claim: "pairs differ: at most 5 %", Found: "1 of 60 <x>", Held: "open"},
		{Part: "inject", Date: "2026-01-02T03:04:05Z", Tare: "9", RestsOn: "40 runs", Claim: "5 % found", Found: "1 of 40", Held: "no"},
		{Part: "sum", Date: "2026-02-03T03:04:05Z", Tare: "9", RestsOn: "40 trials", Claim: "sums", Found: "0 %", Held: "yes"},
	}}
	var text, js bytes.Buffer
	if err := Text(&text, r); err != nil {
		t.Fatal(err)
	}
	if err := JSON(&js, r); err != nil {
		t.Fatal(err)
	}
	want := "self-test of this program on this host: 1 of 3 claims hold, 1 NOT (inject), 1 undecided (aa); found 2026-01-02 to 2026-02-03; tare selftest show\n"
	if got := strings.Join(strings.Fields(text.String()), " ") + "\n"; !strings.HasSuffix(got, want) || strings.Contains(got, "pairs differ") {
		t.Error(text.String())
	}
	page := renderHTML(t, r)
	for _, want := range []string{"pairs differ: at most 5 %; 1 of 60 &lt;x&gt;; undecided", `<li class="fail">5 % found; 1 of 40; does NOT hold`} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not on the page", want)
		}
	}
	if !strings.Contains(js.String(), `"self_test": {`) || !strings.Contains(js.String(), `"held": "no"`) {
		t.Error("the JSON does not cite it")
	}
}

func TestReportsShowTheTests(t *testing.T) {
	r := synthetic(t)
	p, holm, eq := 0.0625, 0.000123, 0.41
	for i := range r.Cases[0].Rows {
		if e := r.Cases[0].Rows[i].Effect; e != nil {
			e.Confidence, e.OfTotals, e.P, e.Holm, e.Equivalence, e.Drift = 0.975, 0.93, &p, &holm, &eq, &result.Drift{PerBlock: -0.012, P: 0.3}
		}
	}
	var all, short, table bytes.Buffer
	if err := Text(&all, r); err != nil {
		t.Fatal(err)
	}
	if err := Brief(&short, r); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(strings.Fields(all.String()), " "); !strings.Contains(got, "docker 97.5 % 0.930 0.062 <0.0005 0.41 -1.20 % 0.3 ") ||
		!strings.Contains(got, "TESTS OF THROUGHPUT INTERVAL AT RATIO OF TOTALS P CORRECTED P, ABOVE MARGIN DRIFT PER BLOCK P, DRIFT") || strings.Contains(short.String(), "TESTS OF") {
		t.Error(all.String())
	}
	want := "interval at 97.5 %; ratio of totals 0.930; no effect p 0.062, corrected &lt;0.0005; above the margin p 0.41; drift -1.20 % per block, p 0.3"
	if page := renderHTML(t, r); !strings.Contains(page, want) && !strings.Contains(page, strings.ReplaceAll(want, "+", "&#43;")) {
		t.Errorf("the page does not say %q", want)
	}
	if err := CSV(&table, r); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&table).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines[1:] {
		if line[7] == "docker" && line[4] == "throughput" {
			if got := strings.Join(line[21:27], " "); got != "0.975 0.0625 0.000123 0.41 -0.012 0.3" {
				t.Error(got)
			}
			return
		}
	}
	t.Error("no line of docker")
}
