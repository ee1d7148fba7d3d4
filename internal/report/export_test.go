package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/perf/benchfmt"

	"tare/internal/analysis/compare"
	"tare/internal/analysis/stats"
	"tare/internal/bench"
	"tare/internal/result"
)

// The parser of benchstat reads every launch with its value, under the
// platform's name, and knows which way each unit is better.
func TestGoBenchIsReadByBenchstat(t *testing.T) {
	r := synthetic(t)
	// What a user may name a thing.
	r.Cases[0].Name = "my case:\twith = signs"
	r.Cases[0].Rows[0].Metric.Unit = "things per\nday"
	for i := range r.Cases[0].Rows {
		if r.Cases[0].Rows[i].Metric.Name == r.Cases[0].Rows[0].Metric.Name {
			r.Cases[0].Rows[i].Metric = r.Cases[0].Rows[0].Metric
		}
	}
	var b bytes.Buffer
	if err := GoBench(&b, r); err != nil {
		t.Fatal(err)
	}
	got := map[string][]float64{}
	in := benchfmt.NewReader(&b, "gobench")
	for in.Scan() {
		switch rec := in.Result().(type) {
		case *benchfmt.Result:
			for _, v := range rec.Values {
				value, unit := v.Value, v.Unit
				if v.OrigUnit != "" {
					value, unit = v.OrigValue, v.OrigUnit
				}
				key := fmt.Sprintf("%s %s %s", rec.GetConfig("platform"), rec.Name, unit)
				got[key] = append(got[key], value)
			}
			if label := rec.GetConfig("label"); (label != "") != (rec.GetConfig("platform") == "qemu-tcg") {
				t.Errorf("%s wears label %q", rec.GetConfig("platform"), label)
			}
			if rec.GetConfig("cpu") == "" || rec.GetConfig("image") != r.Image {
				t.Errorf("configuration %v", rec.Config)
			}
		case *benchfmt.UnitMetadata:
		default:
			t.Errorf("%T: %v", rec, rec)
		}
	}
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, c := range r.Cases {
		for _, row := range slices.Concat(c.Rows, c.TailRows()) {
			if row.N == 0 {
				continue
			}
			rows++
			unit := unitOf(row.Metric)
			values := got[fmt.Sprintf("%s %s %s", row.Platform, capital(word(c.Name)), unit)]
			if len(values) != row.N || stats.Median(values) != row.Median {
				t.Errorf("%s of %s on %s: %d values, median %v; the report has %d and %v", unit, c.Name, row.Platform, len(values), stats.Median(values), row.N, row.Median)
			}
			want := map[bench.Direction]int{bench.HigherIsBetter: 1, bench.LowerIsBetter: -1}[row.Metric.Better]
			if in.Units().GetBetter(unit) != want {
				t.Errorf("%s: better %d, not %d", unit, in.Units().GetBetter(unit), want)
			}
		}
	}
	if rows < 40 || len(got) != rows {
		t.Errorf("%d rows, %d read", rows, len(got))
	}
}

// A unit that is better the other way round elsewhere has a name of its own.
func TestGoBenchUnitsHaveOneDirection(t *testing.T) {
	row := func(better bench.Direction) []result.Row {
		return []result.Row{{Metric: bench.Metric{Name: "rate", Unit: "x", Better: better}}}
	}
	r := &result.Result{Cases: []result.Case{{Name: "a", Rows: row(bench.HigherIsBetter)}, {Name: "b", Rows: row(bench.LowerIsBetter)}}}
	var b bytes.Buffer
	if err := GoBench(&b, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Unit rate-x better=higher\n", "Unit b-rate-x better=lower\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
}

func parseJUnit(t *testing.T, text []byte) junitSuite {
	t.Helper()
	var s junitSuite
	if err := xml.Unmarshal(text, &s); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	failures, errors, skipped := 0, 0, 0
	for _, k := range s.Cases {
		switch {
		case k.Failure != nil:
			failures++
		case k.Error != nil:
			errors++
		case k.Skipped != nil:
			skipped++
		}
	}
	if s.Tests != len(s.Cases) || s.Failures != failures || s.Errors != errors || s.Skipped != skipped {
		t.Errorf("%d tests, %d failures, %d errors, %d skipped; counted %d, %d, %d, %d", s.Tests, s.Failures, s.Errors, s.Skipped, len(s.Cases), failures, errors, skipped)
	}
	return s
}

func TestJUnitHasACaseForEveryEffect(t *testing.T) {
	r := synthetic(t)
	r.Relative = nil
	var unfair *result.Row
	for i := range r.Cases[0].Rows {
		if row := &r.Cases[0].Rows[i]; row.Effect != nil && row.Failed == 0 {
			row.Effect.Verdict, row.Effect.Unfair = result.Unfair, "image <differs> & more\x1b[31m"
			unfair = row
			break
		}
	}
	if unfair == nil {
		t.Fatal("every row has failures")
	}
	var b bytes.Buffer
	if err := JUnit(&b, r); err != nil {
		t.Fatal(err)
	}
	s := parseJUnit(t, b.Bytes())
	at := 0
	for _, c := range r.Cases {
		for _, row := range c.Rows {
			if slices.Contains(bench.UsageMetrics, row.Metric) {
				continue
			}
			e := row.Effect
			if e == nil {
				if row.Failed > 0 && row.Metric.Headline {
					at++
				}
				continue
			}
			k := s.Cases[at]
			at++
			if k.Class != "tare."+c.Name || !strings.HasPrefix(k.Name, row.Platform) || !strings.HasSuffix(k.Name, row.Metric.Name) || !strings.Contains(k.Out, "against native") {
				t.Errorf("%s on %s: %+v", c.Name, row.Platform, k)
			}
			fails := row.Failed > 0 || e.Verdict == result.Unfair
			open := !fails && (e.Verdict == result.Inconclusive || e.Verdict == result.Refused)
			if (k.Failure != nil) != fails || (k.Skipped != nil) != open {
				t.Errorf("%s on %s, %s with %d failed: failure %v, skipped %v", c.Name, row.Platform, e.Verdict, row.Failed, k.Failure, k.Skipped)
			}
			if row.Failed > 0 && !strings.Contains(k.Failure.Text, "the agent did not answer within 30 s") {
				t.Errorf("%s on %s does not say why: %q", c.Name, row.Platform, k.Failure.Text)
			}
		}
	}
	if at != len(s.Cases) || s.Failures == 0 || s.Skipped == 0 {
		t.Errorf("%d effects, suite %+v", at, s)
	}
}

// A baseline that fails leaves nothing to compare with; CI must not see green.
func TestJUnitFailsWhereTheBaselineFailed(t *testing.T) {
	r := synthetic(t)
	row := &r.Cases[0].Rows[0]
	for i := range r.Cases[0].Rows {
		if r.Cases[0].Rows[i].Baseline && r.Cases[0].Rows[i].Metric.Headline {
			row = &r.Cases[0].Rows[i]
		}
	}
	row.Failed, row.N = 2, 1
	var b bytes.Buffer
	if err := JUnit(&b, r); err != nil {
		t.Fatal(err)
	}
	for _, k := range parseJUnit(t, b.Bytes()).Cases {
		if k.Name == row.Platform+" "+row.Metric.Name && k.Class == "tare."+r.Cases[0].Name && k.Failure != nil {
			return
		}
	}
	t.Errorf("no failure of %s in\n%s", row.Platform, b.Bytes())
}

// Cells of the table count in the place of their cases, whose failed launches are still told.
func TestJUnitHasTheCellsOfTheTable(t *testing.T) {
	rate := bench.Metric{Name: "rate", Headline: true}
	cell := func(scene string, v result.Verdict) *result.MatrixCell {
		return &result.MatrixCell{Case: scene, Words: "90 %", Effect: &result.Effect{Verdict: v, Why: "too few"}}
	}
	dnf, unfair := cell("bomb", result.Refused), cell("greedy", result.Unfair)
	dnf.DNF, unfair.Effect.Unfair = 1, "image differs"
	r := &result.Result{
		Relative: &result.Matrix{Columns: []string{"idle", "quiet", "bomb", "greedy", "none"}, Rows: []result.MatrixRow{
			{Row: "CPU", Case: "alone", Platform: "docker", Metric: rate, Cells: []*result.MatrixCell{cell("idle", result.Differs), cell("quiet", result.Refused), dnf, unfair, nil}}}},
		Cases: []result.Case{
			{Name: "idle", Rows: []result.Row{{Metric: rate, Platform: "docker", Effect: &result.Effect{Verdict: result.Unfair}}}},
			{Name: "alone", Rows: []result.Row{{Metric: rate, Platform: "docker", Failed: 1, Effect: &result.Effect{Verdict: result.Differs}}}},
		},
	}
	var b bytes.Buffer
	if err := JUnit(&b, r); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, k := range parseJUnit(t, b.Bytes()).Cases {
		got = append(got, fmt.Sprintf("%s %s failure=%t skipped=%t %s", k.Class, k.Name, k.Failure != nil, k.Skipped != nil, k.Out))
	}
	want := []string{
		"tare.alone docker rate failure=true skipped=false ",
		"tare.idle docker left_of_rate failure=false skipped=false CPU, idle against alone: 90 %",
		"tare.quiet docker left_of_rate failure=false skipped=true CPU, quiet against alone: 90 %",
		"tare.bomb docker left_of_rate failure=false skipped=false CPU, bomb against alone: 90 %",
		"tare.greedy docker left_of_rate failure=true skipped=false CPU, greedy against alone: 90 %",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestJUnitOfAGate(t *testing.T) {
	row := func(d compare.Decision) compare.GateRow {
		return compare.GateRow{Case: "cpu", Platform: "docker", Metric: bench.Metric{Name: "throughput"}, Decision: d, Why: "because of " + string(d), Decide: "more"}
	}
	g := &compare.Gate{Limit: 0.05, Decision: compare.Regression, Why: "one got worse", Comparison: &compare.Comparison{},
		Rows: []compare.GateRow{row(compare.Pass), row(compare.Regression), row(compare.Undecided), row(compare.Unfair), row(compare.Failed)}}
	var b bytes.Buffer
	if err := GateJUnit(&b, g); err != nil {
		t.Fatal(err)
	}
	s := parseJUnit(t, b.Bytes())
	if s.Tests != 6 || s.Failures != 2 || s.Errors != 2 || s.Skipped != 1 || !strings.Contains(s.Name, "5 %") {
		t.Errorf("%+v", s)
	}
	if k := s.Cases[1]; k.Failure == nil || k.Failure.Message != "because of regression" || k.Failure.Text != "more" {
		t.Errorf("%+v", k)
	}
}
