package report

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/result"
)

// domainsCase is a case with what the scheduler told of its domains.
func domainsCase() result.Case {
	quantity := func(name, unit string, v float64, against, alone *result.Effect) result.Quantity {
		return result.Quantity{Metric: bench.Metric{Name: name, Unit: unit}, Median: v, Effect: against, Alone: alone,
			Points: []result.Point{{Block: 1, Trial: "b01-t01", Value: v}}}
	}
	sure := func(r float64) *result.Effect {
		return &result.Effect{Ratio: r, Low: r - .1, High: r + .1, N: 3, Verdict: result.Differs}
	}
	return result.Case{Name: "c", Title: "Two side by side", Kind: bench.Beside, Scheduling: []result.Scheduling{
		{Platform: "native", Baseline: true, Domain: "subject", Role: bench.Subject, On: "native", Domains: 1, N: 3, Quantities: []result.Quantity{
			quantity("executions", "1/s", 12345, nil, sure(1.5)), quantity("cpu_per_execution", "us", 12.5, nil, sure(.5)), quantity("cpu_wait", "ms/s", 432, nil, nil)}},
		{Platform: "qemu-tcg", Label: "emulated (tcg)", Domain: "subject", Role: bench.Subject, On: "qemu-tcg", Domains: 1, N: 3, Quantities: []result.Quantity{
			quantity("executions", "1/s", 20000, sure(1.62), nil), quantity("cpu_per_execution", "us", 7, &result.Effect{Verdict: result.Unfair}, nil), quantity("cpu_wait", "ms/s", 0, &result.Effect{Verdict: result.Refused}, nil),
			quantity("vcpu_executions", "1/s", 9000, nil, nil)}, Notes: []string{"a <bound>"}},
		{Platform: "native", Baseline: true, Domain: "idle", Role: bench.Idle, On: "native", Domains: 5, N: 3, Quantities: []result.Quantity{quantity("executions", "1/s", 0.25, nil, nil)}},
		{Platform: "xen-pv", Domain: "neighbour", Role: bench.Neighbour, On: "docker", Domains: 1, Why: "Xen counts none"},
	}}
}

func TestExecutionsAreShown(t *testing.T) {
	c := domainsCase()
	var out bytes.Buffer
	writeBlocks(&out, schedulingText(c))
	text := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"native subject 12 345 12.5 µs 432 ms/s",
		"to alone 1.500 (1.400 to 1.600) 0.500 (0.400 to 0.600)",
		"qemu-tcg, emulated (tcg) subject 20 000 7 µs 0 ms/s to the baseline 1.620 (1.520 to 1.720) no comparison",
		"subject, its virtual CPUs 9 000", "5 idle, mean of each 0.25", "xen-pv neighbour (docker) not known", "xen-pv, neighbour (docker): Xen counts none", "a <bound>",
	} {
		if !strings.Contains(strings.ReplaceAll(text, " ", " "), strings.ReplaceAll(want, " ", " ")) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	r := &result.Result{Format: result.Format, Run: "r", Margin: .03, Cases: []result.Case{c}}
	var page bytes.Buffer
	if err := HTML(&page, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"How often each domain ran", "<small>to alone: 1.500 (1.400 to 1.600)</small>", "<small>to the baseline: 1.620 (1.520 to 1.720)</small>", "not known: Xen counts none", "a &lt;bound&gt;"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("%q is not in the page", want)
		}
	}
	var lines bytes.Buffer
	if err := CSV(&lines, r); err != nil {
		t.Fatal(err)
	}
	all, err := csv.NewReader(&lines).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 9 || all[1][4] != "executions of subject" || all[1][6] != "" || all[4][15] != "1.62" || all[8][4] != "executions of idle" {
		t.Errorf("%d lines: %q", len(all), all)
	}
}
