package analysis

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/result"
	"tare/internal/result/store"
	"tare/internal/result/store/storetest"
)

func otherwise(t *testing.T, r *store.Run, o Options) *result.Result {
	t.Helper()
	got, err := AnalyzeWith(r, o)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// Any platform may be the one that the others are set against: the ratio of two is that of their
// ratios, both ways round, with an audit of its own.
func TestAnotherBaseline(t *testing.T) {
	run := storetest.Synthetic(t, t.TempDir(), storetest.Options{Blocks: 8, Seconds: 2, Seed: 3, Cases: []string{"cpu"}, Noise: 0.003,
		Platforms: []bench.PlatformRef{{Name: "native"}, {Name: "docker"}, {Name: "lxc"}}, Ratio: map[string]float64{"native": 1, "docker": 0.9, "lxc": 0.81}})
	defer run.Close()
	r := otherwise(t, run, Options{Baseline: "docker"})
	if r.Baseline != "docker" || r.Cases[0].Rows[0].Baseline || !r.Cases[0].Rows[1].Baseline || r.Cases[0].Rows[1].Effect != nil {
		t.Fatalf("%+v", r.Cases[0].Rows[:2])
	}
	for i, want := range map[int]float64{0: 1 / 0.9, 2: 0.9} {
		row := r.Cases[0].Rows[i]
		if e := row.Effect; row.Metric.Name != "throughput" || math.Abs(e.Ratio/want-1) > 0.01 || e.Verdict != result.Differs || e.Audit == nil || e.N != 8 {
			t.Errorf("%s: %+v, want %g", row.Platform, e, want)
		}
	}
	if said := strings.Join(r.Summary.Sentences, "\n"); !strings.Contains(said, "lxc: 10") || !strings.Contains(said, "% slower") || !strings.Contains(said, "native: 11") {
		t.Error(said)
	}
	if !strings.Contains(strings.Join(r.Warnings, "\n"), "set against docker, though the run was planned against native") {
		t.Errorf("%q", r.Warnings)
	}
	if again := otherwise(t, run, Options{Baseline: "native"}); again.Baseline != "native" || len(again.Warnings) != len(r.Warnings)-1 {
		t.Errorf("the planned one: %q", again.Warnings)
	}
	if _, err := AnalyzeWith(run, Options{Baseline: "kvm"}); !errors.Is(err, bench.ErrInvalid) || !strings.Contains(bench.HintOf(err), "native, docker, lxc") {
		t.Errorf("%v, %s", err, bench.HintOf(err))
	}
}

// A pair is audited as itself: what is fair beside native is not beside docker, and has no ratio there.
func TestAnotherBaselineUnfair(t *testing.T) {
	run := unlike(t)
	planned, other := otherwise(t, run, Options{}), otherwise(t, run, Options{Baseline: "docker"})
	if e := planned.Cases[0].Rows[2].Effect; e.Unfair != "" || !e.HasRatio() {
		t.Fatalf("lxc beside native: %+v", e)
	}
	e := other.Cases[0].Rows[2].Effect
	if e.Verdict != result.Unfair || e.HasRatio() || e.Low != 0 || e.High != 0 || len(e.Ratios) != 0 || !strings.HasPrefix(e.Words, "no comparison: kernel") {
		t.Errorf("lxc beside docker: %+v", e)
	}
}

// Two platforms that are alike are equivalent beside each other, though both differ from native.
func TestAnotherBaselineAlike(t *testing.T) {
	run := storetest.Synthetic(t, t.TempDir(), storetest.Options{Blocks: 30, Seconds: 2, Seed: 3, Cases: []string{"cpu"}, Noise: 0.003,
		Platforms: []bench.PlatformRef{{Name: "native"}, {Name: "docker"}, {Name: "lxc"}}, Ratio: map[string]float64{"native": 1, "docker": 0.9, "lxc": 0.9}})
	defer run.Close()
	row := otherwise(t, run, Options{Baseline: "docker"}).Cases[0].Rows[2]
	if e := row.Effect; row.Platform != "lxc" || e.Verdict != result.Equivalent || e.Low > 1 || e.High < 1 {
		t.Errorf("%s: %+v", row.Platform, e)
	}
}

// Values in turns are ratios to the planned baseline, which goes out of the ratio of two.
func TestAnotherBaselineInTurns(t *testing.T) {
	run := crafted{metric: bench.TurnMetrics[0], platform: []string{"native", "lxc", "docker"}, turns: 50 * time.Millisecond, blocks: 3,
		values: map[string][]float64{"native": {1, 1.01, 1}, "lxc": {0.9, 0.91, 0.89}, "docker": {0.6, 0.61, 0.6}}}
	r := otherwise(t, run.write(t), Options{Baseline: "lxc"})
	e := r.Cases[0].Rows[2].Effect
	if want := math.Cbrt(0.6 / 0.9 * 0.61 / 0.91 * 0.6 / 0.89); math.Abs(e.Ratio-want) > 1e-9 {
		t.Errorf("%+v, want %g", e, want)
	}
	if r.Controls != nil {
		t.Errorf("controls of another baseline: %+v", r.Controls)
	}
}

// Intervals between two platforms have the stricter level of both.
func TestAnotherBaselineHasTheStricterLevel(t *testing.T) {
	run := crafted{metric: throughput, platform: []string{"native", "lxc", "docker"}, blocks: 6,
		until:  &bench.Until{Interval: 0.05, Min: 3, Max: 6, Looks: []int{3, 4, 5, 6}},
		values: map[string][]float64{"native": {100, 101, 100, 100, 101, 99}, "lxc": {90, 91, 89, 90, 90, 91}, "docker": {70, 130, 60, 100, 80, 120}}}.write(t)
	planned, other := otherwise(t, run, Options{}), otherwise(t, run, Options{Baseline: "lxc"})
	want := 0.0
	for _, row := range planned.Cases[0].Rows {
		if row.Effect != nil {
			want = max(want, row.Effect.Confidence)
		}
	}
	if e := other.Cases[0].Rows[2].Effect; want <= 0.95 || e.Confidence != want {
		t.Errorf("%v, want %v", e.Confidence, want)
	}
}

// Any two cases with a metric in common may be set against each other, on each platform.
func TestOtherCases(t *testing.T) {
	run := storetest.Synthetic(t, t.TempDir(), storetest.Options{Blocks: 6, Seconds: 2, Seed: 3, Cases: []string{"cpu", "four-alike", "disk"},
		Platforms: []bench.PlatformRef{{Name: "native"}, {Name: "docker"}}})
	defer run.Close()
	r := otherwise(t, run, Options{Others: []Other{{"four-alike", "cpu"}}})
	found := 0
	for _, row := range r.Relative.Rows {
		if row.Metric.Name != "throughput" {
			continue
		}
		found++
		if c := row.Cells[0]; math.Abs(c.Kept-2340.0/1180) > 0.05 || c.Effect.Audit == nil || row.Case != "cpu" || c.Case != "four-alike" {
			t.Errorf("%s keeps %+v", row.Platform, c)
		}
	}
	if found != 2 || !strings.Contains(strings.Join(r.Warnings, "\n"), "four-alike is set against cpu, which the run was not planned for") {
		t.Errorf("%d rows, warnings %q", found, r.Warnings)
	}
	// Both cases speak for themselves as well.
	said := strings.Join(r.Summary.Sentences, "\n")
	for _, want := range []string{"docker: ", " on cpu", "four-alike against cpu: ", "on native (", "on docker ("} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in:\n%s", want, said)
		}
	}
	headlines, planned := 0, 0
	for range r.Headlines() {
		headlines++
	}
	for range otherwise(t, run, Options{}).Headlines() {
		planned++
	}
	if headlines != planned+2 {
		t.Errorf("%d effects count, %d without the two asked for", headlines, planned)
	}
	for _, bad := range []struct {
		others []Other
		says   string
	}{
		{[]Other{{"four", "cpu"}}, `the run has no case "four"; did you mean "four-alike"?`},
		{[]Other{{"four-alike", "cup"}}, `the run has no case "cup"; did you mean "cpu"?`},
		{[]Other{{"cpu", "cpu"}}, "cpu is set against itself"},
		{[]Other{{"disk", "cpu"}}, "disk and cpu have no metric in common"},
		{[]Other{{"four-alike", "cpu"}, {"four-alike", "cpu"}}, "four-alike is set against cpu already"},
	} {
		if _, err := AnalyzeWith(run, Options{Others: bad.others}); !errors.Is(err, bench.ErrInvalid) || !strings.Contains(err.Error(), bad.says) {
			t.Errorf("%v: %v", bad.others, err)
		}
	}
}
