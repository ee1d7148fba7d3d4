package analysis

import (
	"math"
	"strings"
	"testing"

	"tare/internal/analysis/stats"
	"tare/internal/result"
)

func effectOf(t *testing.T, ratios ...float64) (*result.Result, *result.Effect) {
	t.Helper()
	c := ruled(t, ratios...)
	c.until, c.blocks = nil, len(ratios)
	r := analyze(t, c.write(t))
	return r, r.Cases[0].Rows[1].Effect
}

func TestTestsAreThoseOfThePairedRatios(t *testing.T) {
	x := []float64{0.91, 0.90, 0.92, 0.905, 0.89, 0.903, 0.912}
	_, e := effectOf(t, x...)
	p, err := stats.SignFlip(x)
	if err != nil || e.P == nil || *e.P != p || p != 2.0/128 {
		t.Errorf("p %v, want %g, %v", e.P, p, err)
	}
	if e.Holm == nil || *e.Holm != p {
		t.Errorf("one comparison is its own table: %v, want %g", e.Holm, p)
	}
	eq, err := stats.Equivalence(x, 0.03)
	if err != nil || e.Equivalence == nil || math.Abs(*e.Equivalence-eq) > 1e-9 || eq < 0.9 {
		t.Errorf("p of equivalence %v, want %g, %v", e.Equivalence, eq, err)
	}
	if e.Drift == nil || e.Drift.P < 0.05 {
		t.Errorf("drift %+v", e.Drift)
	}
}

// Holm's correction runs over the headline effects of all cases, not over the
// further metrics.
func TestHolmOverTheTable(t *testing.T) {
	x := []float64{0.91, 0.90, 0.92, 0.905, 0.89, 0.903, 0.912}
	run := ruled(t, x...)
	run.until, run.blocks = nil, len(x)
	run.platform = []string{"native", "lxc", "docker", "docker[net=host]"}
	for i := range x {
		run.values["docker"] = append(run.values["docker"], run.values["lxc"][i])
		run.values["docker[net=host]"] = append(run.values["docker[net=host]"], run.values["native"][i]*(1+0.001*float64(1-2*(i%2))))
	}
	r := analyze(t, run.write(t))
	for i, want := range map[int]float64{1: 3 * 2.0 / 128, 2: 3 * 2.0 / 128} {
		if e := r.Cases[0].Rows[i].Effect; e.Holm == nil || math.Abs(*e.Holm-want) > 1e-12 || *e.P != 2.0/128 {
			t.Errorf("%s: p %v, Holm %v, want %g", r.Cases[0].Rows[i].Platform, e.P, e.Holm, want)
		}
	}
}

func TestDriftIsSaidWithTheRow(t *testing.T) {
	r, e := effectOf(t, 0.90, 0.91, 0.92, 0.93, 0.94, 0.95, 0.96, 0.97)
	if e.Drift == nil || math.Abs(e.Drift.PerBlock-0.0107) > 0.0005 || e.Drift.P > 0.001 {
		t.Fatalf("drift %+v", e.Drift)
	}
	warnings := strings.Join(r.Cases[0].Rows[1].Warnings, "\n")
	if !strings.Contains(warnings, "the ratio drifts by +1.1 % per block") || !strings.Contains(warnings, "corrected for 1 test)") {
		t.Errorf("%q", warnings)
	}
	calm, _ := effectOf(t, 0.90, 0.97, 0.92, 0.93, 0.94, 0.91, 0.96, 0.95)
	if warnings := strings.Join(calm.Cases[0].Rows[1].Warnings, "\n"); strings.Contains(warnings, "drift") {
		t.Errorf("%q", warnings)
	}
}

func TestTooFewBlocksHaveNoTests(t *testing.T) {
	if _, e := effectOf(t, 0.9, 0.91); e.P != nil || e.Holm != nil || e.Equivalence != nil || e.Drift != nil || e.PInterval == nil {
		t.Errorf("%+v", e)
	}
	if _, e := effectOf(t, 0.9, 0.91, 0.92); e.P == nil || e.Holm == nil || e.Equivalence == nil || e.Drift != nil {
		t.Errorf("%+v", e)
	}
}

// Two platforms with the same launches share the baseline: either alone would differ.
func TestADifferenceThatItsFamilyDoesNotBearSaysSo(t *testing.T) {
	run := ruled(t, 0.94, 0.913, 0.957)
	run.until, run.blocks = nil, 3
	for _, c := range []struct {
		platforms []string
		verdict   result.Verdict
		why       string
	}{
		{[]string{"native", "lxc"}, result.Differs, ""},
		{[]string{"native", "lxc", "docker"}, result.Inconclusive, "alone it would differ, but not among the 2 platforms compared with native (p = 0.082)"},
	} {
		run.platform = c.platforms
		run.values["docker"] = run.values["lxc"]
		for _, row := range analyze(t, run.write(t)).Cases[0].Rows[1:] {
			e := row.Effect
			t.Log(c.platforms, row.Platform, *e.PInterval, *e.PFamily, e.Verdict, e.Why, e.Words)
			if e.Verdict != c.verdict || !strings.HasPrefix(e.Why, c.why) {
				t.Errorf("%v: %s is %s: %s", c.platforms, row.Platform, e.Verdict, e.Why)
			}
		}
	}
}
