package report

import (
	"bytes"
	"strings"
	"testing"

	"tare/internal/analysis/audit"
	"tare/internal/result"
)

// spoiled is a result in which Docker's first comparison was found unfair.
func spoiled(t *testing.T) *result.Result {
	t.Helper()
	r := synthetic(t)
	for i := range r.Cases[0].Rows {
		row := &r.Cases[0].Rows[i]
		if row.Platform == "docker" {
			a := *row.Effect.Audit
			a.Checks = append([]audit.Check{{Name: "memory limit", State: audit.Invalid, Subject: "512 MiB", Baseline: "1 GiB", Why: "not alike"}}, a.Checks...)
			row.Effect = &result.Effect{Verdict: result.Unfair, Ratios: []result.Point{}, Audit: &a,
				Unfair: "memory limit (512 MiB against 1 GiB): not alike", Words: "no comparison: memory limit"}
		}
	}
	return r
}

func TestUnfairComparisonInText(t *testing.T) {
	var b bytes.Buffer
	if err := Text(&b, spoiled(t)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"  no comparison\n", "- docker: unfair: memory limit (512 MiB against 1 GiB): not alike"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing from:\n%.2000s", want, b.String())
		}
	}
}

func TestUnfairComparisonInHTML(t *testing.T) {
	var b bytes.Buffer
	if err := HTML(&b, spoiled(t)); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{`<details class="audit" open><summary>Fairness of docker <small>`, "1 invalid</small>", `<td class="fail">invalid</td>`} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if n := strings.Count(page, `<details class="audit" open>`); n != 1 {
		t.Errorf("%d audits are open, want the invalid one only", n)
	}
}

func TestUnfairComparisonInCSV(t *testing.T) {
	var b bytes.Buffer
	if err := CSV(&b, spoiled(t)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), ",unfair") {
		t.Error("the verdict is missing")
	}
}
