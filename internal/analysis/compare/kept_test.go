package compare

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/analysis"
	"tare/internal/bench"
	"tare/internal/result"
	"tare/internal/result/store"
	"tare/internal/result/store/storetest"
)

// besides is a synthetic run in which the scene "beside" is set against "cpu". In
// it are left, of what would be, the shares of lost by platform.
func besides(t *testing.T, seed uint64, lost map[string]float64) Run {
	t.Helper()
	r, err := store.Open(besidesDir(t, seed))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	result, err := analysis.Analyze(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range result.Relative.Rows {
		for i := range row.Cells[0].Effect.Ratios {
			share := 1.0
			if left, some := lost[row.Platform]; some {
				share = left
			}
			if row.Metric.Better == bench.LowerIsBetter {
				share = 1 / share
			}
			row.Cells[0].Effect.Ratios[i].Value *= share
		}
	}
	return Run{r, result}
}

// besidesDir is the folder of such a run, made once for each seed.
func besidesDir(t *testing.T, seed uint64) string {
	t.Helper()
	key := fmt.Sprint("besides ", seed)
	if dir := made[key]; dir != "" {
		return dir
	}
	dir, err := os.MkdirTemp("", "compare")
	if err != nil {
		t.Fatal(err)
	}
	made[key] = dir
	storetest.Synthetic(t, dir, storetest.Options{Seed: seed, Blocks: 8, Seconds: 1, Platforms: platforms, Cases: []string{"cpu", "beside"}}).Close()
	path := filepath.Join(dir, "plan.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var p bench.Plan
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	for i := range p.Scenes {
		if s := &p.Scenes[i]; s.Case == "beside" {
			s.Relative = &bench.Relative{To: "cpu", Row: "CPU", Column: "disk hog"}
		}
	}
	if text, err = json.Marshal(&p); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// What is left beside a neighbour is compared and gated as everything else is,
// although no scene by itself has become slower.
func TestGateOfWhatIsLeft(t *testing.T) {
	a, b := besides(t, 1, nil), besides(t, 2, map[string]float64{"docker": 0.8})
	c := runs(t, a, b, Options{})
	r := rowOf(t, c, "beside", "docker", "left_of_throughput")
	if ch := r.Change; ch.Verdict != result.Differs || ch.Ratio < 0.77 || ch.Ratio > 0.83 || ch.Holm == nil ||
		!strings.HasPrefix(ch.Words, "left of throughput ") || !strings.Contains(ch.Words, "% lower (") {
		t.Errorf("%+v", ch)
	}
	if k := r.Relative; k == nil || *k != (Relative{"cpu", "CPU", "disk hog", "throughput"}) || !r.Metric.Headline || r.Title != "CPU, disk hog, by cpu" {
		t.Errorf("%+v, %+v", r, k)
	}
	// The direction is that of what is left, also of a metric that is better low.
	if ch := rowOf(t, c, "beside", "docker", "left_of_p95_latency").Change; ch.Ratio > 0.83 || ch.Cost < 0.17 {
		t.Errorf("%+v", ch)
	}
	if ch := rowOf(t, c, "beside", "lxc", "left_of_throughput").Change; ch.Verdict == result.Differs {
		t.Errorf("%+v", ch)
	}
	for metrics, want := range map[string]Decision{"": RegressionOfRuns, "throughput": RegressionOfRuns, "left_of_throughput": RegressionOfRuns, "p95_latency": RegressionOfRuns} {
		g, err := Judge(c, 0.1, Asked{Metrics: strings.Fields(metrics)})
		if err != nil {
			t.Fatal(err)
		}
		if g.Decision != want || !strings.Contains(g.Why, "CPU, disk hog, by cpu on docker") || strings.Contains(g.Why, "lxc") {
			t.Errorf("%q: %s: %s", metrics, g.Decision, g.Why)
		}
	}
	if g, err := Judge(runs(t, a, besides(t, 2, nil), Options{}), 0.1, Asked{}); err != nil || g.Decision != PassOfRuns {
		t.Errorf("nothing changed: %+v, %v", g, err)
	}
}

// By the baseline there is no row of the baseline's own.
func TestWhatIsLeftByTheBaseline(t *testing.T) {
	c := runs(t, besides(t, 1, nil), besides(t, 2, nil), Options{Relative: true})
	n := 0
	for _, r := range c.Rows {
		if r.Relative != nil {
			n++
			if r.Platform == "native" || r.A.N() != 8 || r.A.Median < 0.8 || r.A.Median > 1.2 {
				t.Errorf("%s: %+v", r.Platform, r.A)
			}
		}
	}
	if n != 4 {
		t.Errorf("%d rows of what is left, want 2 platforms of 2 metrics", n)
	}
}

// What is unfair within a run, or between the runs in the other scene, states
// nothing; what one run lacks is said; and a launch that its containment's time ended passes no gate.
func TestWhatIsLeftIsAudited(t *testing.T) {
	a, b := besides(t, 1, nil), besides(t, 2, nil)
	cellOf(b, "docker").Effect.Unfair = "huge pages (always against never): changed"
	for i := range b.Store.Plan().Scenes {
		if s := &b.Store.Plan().Scenes[i]; s.ID == "cpu/lxc" {
			s.Timing.Warmup *= 2
		}
	}
	c := runs(t, a, b, Options{})
	for platform, why := range map[string]string{"docker": "within a run: huge pages", "lxc": "timing in cpu: warm up 5s"} {
		ch := rowOf(t, c, "beside", platform, "left_of_throughput").Change
		if ch.Verdict != result.Unfair || !strings.Contains(ch.Unfair, why) {
			t.Errorf("%s: %+v", platform, ch)
		}
	}
	if ch := rowOf(t, c, "beside", "native", "left_of_throughput").Change; ch.Verdict == result.Unfair {
		t.Errorf("%+v", ch)
	}
	if g, err := Judge(c, 0.1, Asked{}); err != nil || g.Decision != Unfair {
		t.Errorf("%+v, %v", g, err)
	}

	b = besides(t, 2, nil)
	for i := range b.Result.Relative.Rows {
		if b.Result.Relative.Rows[i].Platform == "lxc" {
			b.Result.Relative.Rows[i].Cells[0] = nil
		}
	}
	cellOf(b, "docker").Overdue = 1
	c = runs(t, a, b, Options{})
	if got := strings.Join(c.OnlyA, "; "); got != "beside/lxc left_of_throughput (cpu); beside/lxc left_of_p95_latency (cpu)" {
		t.Error(got)
	}
	g, err := Judge(c, 0.1, Asked{})
	if err != nil || g.Decision != Undecided || !strings.Contains(g.Why, "the containment's time limit was reached in 1 in B and 0 in A") {
		t.Errorf("%+v, %v", g, err)
	}

	b = besides(t, 1, nil)
	cellOf(b, "docker").Alone = 2
	c = runs(t, besides(t, 1, nil), b, Options{})
	if row := rowOf(t, c, "beside", "docker", "left_of_throughput"); row.A.Alone != 0 || row.B.Alone != 2 {
		t.Errorf("%d and %d launches without a neighbour", row.A.Alone, row.B.Alone)
	}
	g, err = Judge(c, 0.1, Asked{})
	if err != nil || g.Decision != Undecided || !strings.Contains(g.Why, "it had ended early in 2 in B and 0 in A") {
		t.Errorf("%+v, %v", g, err)
	}
}

func cellOf(r Run, platform string) *result.MatrixCell {
	for _, row := range r.Result.Relative.Rows {
		if row.Platform == platform && row.Metric.Headline {
			return row.Cells[0]
		}
	}
	return nil
}
