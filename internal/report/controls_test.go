package report

import (
	"bytes"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/result"
)

func TestControlsInReports(t *testing.T) {
	r := synthetic(t)
	rate := bench.Metric{Name: "throughput", Unit: "events/s", Better: bench.HigherIsBetter}
	late := bench.Metric{Name: "mean_latency", Unit: "ms", Better: bench.LowerIsBetter}
	c := &result.Controls{Baseline: "native", Hold: 1, Of: 2, Rows: []result.ControlRow{
		{Case: "cpu", Metric: rate, Detectable: 0.021, Platform: "lxc", Effect: &result.Effect{Verdict: result.Equivalent, Ratio: 1, Low: 0.99, High: 1.01}},
		{Case: "net", Metric: rate, Detectable: 0.09, Platform: "kvm", Effect: &result.Effect{Verdict: result.Differs, Ratio: 0.9, Low: 0.88, High: 0.92}},
		{Case: "net", Metric: late, Effect: &result.Effect{Verdict: result.Unfair, Unfair: "kernel: other"}},
	}}
	c.Words = c.Say()
	r.Controls = c
	var text, js bytes.Buffer
	if err := Text(&text, r); err != nil {
		t.Fatal(err)
	}
	if err := JSON(&js, r); err != nil {
		t.Fatal(err)
	}
	page := renderHTML(t, r)
	for _, want := range []string{
		"native against itself: 1 of 2 intervals hold 1. Without it, by chance or by what the audit cannot see: net (throughput): 10.0 % slower (8.0 to 12.0).",
		"What every row of a case would have found nine times in ten, by the row that scatters most: 2.1 % in cpu (lxc), 9.0 % in net (throughput, kvm).",
		"native against itself, not compared: net (mean_latency): kernel: other.",
	} {
		if got := strings.Join(strings.Fields(text.String()), " "); !strings.Contains(got, want) {
			t.Errorf("the text lacks %q:\n%s", want, got)
		}
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
		if !strings.Contains(js.String(), want) {
			t.Errorf("the JSON lacks %q", want)
		}
	}
	if !strings.Contains(js.String(), `"detectable": 0.09`) || !strings.Contains(page, controlsTitle) {
		t.Error("no controls in the JSON or on the page")
	}
}
