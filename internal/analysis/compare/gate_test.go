package compare

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/result/store/storetest"
)

func TestGate(t *testing.T) {
	a := storetest.Options{Seed: 1}
	for _, c := range []struct {
		name    string
		b       storetest.Options
		limit   float64
		metrics []string
		want    Decision
		says    []string
	}{
		{"identical", storetest.Options{Seed: 2}, 0.05, nil, PassOfRuns, []string{"no metric is worse by more than 5 % in run B than in run A"}},
		{"10 % slower", storetest.Options{Seed: 2, Ratio: slower(0.9, "docker")}, 0.05, nil, RegressionOfRuns,
			[]string{"throughput of prime search, 1 thread on docker", "% slower", "more than the 5 % allowed", "cannot tell the platform from the run"}},
		{"10 % slower, 20 % allowed", storetest.Options{Seed: 2, Ratio: slower(0.9, "docker")}, 0.20, nil, PassOfRuns, nil},
		{"10 % faster", storetest.Options{Seed: 2, Ratio: slower(1.1, "docker")}, 0.05, nil, PassOfRuns, nil},
		{"latency up", storetest.Options{Seed: 2, Ratio: slower(0.9, "docker")}, 0.05, []string{"p95_latency"}, RegressionOfRuns, []string{"p95 latency", "higher"}},
		{"noisy", storetest.Options{Seed: 2, Noise: 0.2}, 0.05, nil, Undecided, []string{"worse; 5 % is allowed"}},
		{"few", storetest.Options{Seed: 2, Blocks: 2}, 0.05, nil, Undecided, []string{"an interval needs at least 3"}},
		{"not complete", storetest.Options{Seed: 2, Missing: 3}, 0.05, nil, Undecided, []string{"trials are missing: 0 in A, 3 in B"}},
		{"a platform less", storetest.Options{Seed: 2, Platforms: platforms[:2]}, 0.05, nil, Undecided, []string{"B lacks what A has", "lxc, everywhere"}},
		{"all failed", storetest.Options{Seed: 2, FailEvery: 1}, 0.05, nil, Regression, []string{"no launch finishes any more"}},
		{"failures", storetest.Options{Seed: 2, FailEvery: 7}, 0.05, nil, Undecided, []string{"failed in B and 0 in A"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, err := Judge(runs(t, synthetic(t, a, nil), synthetic(t, c.b, nil), Options{}), c.limit, Asked{Metrics: c.metrics})
			if err != nil {
				t.Fatal(err)
			}
			if g.Decision != c.want {
				t.Errorf("%s, not %s: %s", g.Decision, c.want, g.Why)
			}
			for _, text := range c.says {
				if !strings.Contains(g.Why, text) {
					t.Errorf("%q does not say %q", g.Why, text)
				}
			}
			for _, r := range g.Rows {
				if (r.Decision == Undecided || r.Decision == RegressionOfRuns) && r.Decide == "" {
					t.Errorf("%s/%s %s: nothing said of what would decide it", r.Case, r.Platform, r.Metric.Name)
				}
				if r.P != nil && (r.Low > r.Cost || r.High < r.Cost) {
					t.Errorf("%s/%s %s: worsening %v outside %v to %v", r.Case, r.Platform, r.Metric.Name, r.Cost, r.Low, r.High)
				}
			}
		})
	}
}

// A change that lies at the limit is decided by no number of blocks: the least limit that would do is named.
func TestGateNamesTheLimitThatWouldDo(t *testing.T) {
	g, err := Judge(runs(t, synthetic(t, storetest.Options{Seed: 1, Noise: 0.1}, nil), synthetic(t, storetest.Options{Seed: 2, Noise: 0.1, Ratio: slower(0.95, "docker")}, nil), Options{}), 0.05, Asked{})
	if err != nil {
		t.Fatal(err)
	}
	said := 0
	for _, r := range g.Rows {
		const lead = "this host does not decide it: 1000 blocks in each run would not do; use a limit of at least "
		rest, found := strings.CutPrefix(r.Decide, lead)
		if !found {
			continue
		}
		said++
		share, _, _ := strings.Cut(rest, " %, or a quieter host")
		if at, err := strconv.ParseFloat(share, 64); err != nil || at/100 < r.High || at/100 > r.High+0.0011 {
			t.Errorf("%s/%s: %q of a row that is at most %v worse", r.Case, r.Platform, r.Decide, r.High)
		}
	}
	if said == 0 {
		t.Error("no row is undecidable")
	}
}

func TestGateOfUnfairRuns(t *testing.T) {
	a := synthetic(t, storetest.Options{Seed: 1}, nil)
	b := synthetic(t, storetest.Options{Seed: 2, Ratio: slower(0.5, "docker")}, replace(t, "run.json", "sha256:5f2b", "sha256:0000"))
	g, err := Judge(runs(t, a, b, Options{}), 0.05, Asked{})
	if err != nil {
		t.Fatal(err)
	}
	if g.Decision != Unfair || !strings.Contains(g.Why, "image digest") {
		t.Errorf("%s: %s", g.Decision, g.Why)
	}
}

// A platform on which nothing runs any more is no missing value.
func TestGateOfAPlatformThatBroke(t *testing.T) {
	a := synthetic(t, storetest.Options{Seed: 1}, nil)
	b := synthetic(t, storetest.Options{Seed: 2}, nil)
	for i := range b.Result.Cases {
		for j := range b.Result.Cases[i].Rows {
			if r := &b.Result.Cases[i].Rows[j]; r.Platform == "docker" {
				r.Failed, r.Points, r.N = r.N, nil, 0
			}
		}
	}
	g, err := Judge(runs(t, a, b, Options{}), 0.05, Asked{})
	if err != nil {
		t.Fatal(err)
	}
	if g.Decision != Regression || !strings.Contains(g.Why, "no launch finishes any more: 8 of 8 failed in B") {
		t.Errorf("%s: %s", g.Decision, g.Why)
	}
}

// Two runs in which nothing came up are a failure and no question of more blocks.
func TestGateOfRunsThatFailed(t *testing.T) {
	failed := func(seed uint64) Run { return synthetic(t, storetest.Options{Seed: seed, FailEvery: 1}, nil) }
	for _, c := range []struct {
		name string
		a, b Run
		says string
	}{
		{"both", failed(1), failed(2), "no launch finished to be compared: all 8 failed in A and all 8 failed in B"},
		{"A", failed(1), synthetic(t, storetest.Options{Seed: 2}, nil), "all 8 failed in A and 8 finished in B"},
	} {
		g, err := Judge(runs(t, c.a, c.b, Options{}), 0.05, Asked{})
		if err != nil || g.Decision != Failed || !strings.Contains(g.Why, c.says) || g.Rows[0].Decide == "" {
			t.Errorf("%s: %+v, %v", c.name, g, err)
		}
	}
}

// Of many rows without a change beyond the limit few runs may be called a
// regression: the lower bounds are corrected.
func TestGateCorrectsForTheNumberOfRows(t *testing.T) {
	c := &Comparison{}
	values := [][2][]float64{
		{{100, 101, 99, 100.5}, {106.5, 107.5, 106, 107}}, // clear alone and among many
		{{100, 103, 98, 101}, {108, 114, 106, 110}},       // clear alone only
	}
	m := bench.Metric{Name: "time_to_ready", Unit: "ms", Better: bench.LowerIsBetter, Headline: true}
	add := func(v [2][]float64) {
		r := Row{Case: "c", Title: "c", Platform: "p", Metric: m, A: Values{Values: [][]float64{v[0]}}, B: Values{Values: [][]float64{v[1]}}}
		c.Margin = 0.03
		r.Change = c.change(&r, 0.95, "", Options{})
		c.Rows = append(c.Rows, r)
	}
	add(values[1])
	alone, err := Judge(c, 0.01, Asked{})
	if err != nil {
		t.Fatal(err)
	}
	for range 19 {
		add([2][]float64{{100, 101, 99, 100.5}, {100, 101, 99, 100.6}})
	}
	many, err := Judge(c, 0.01, Asked{})
	if err != nil {
		t.Fatal(err)
	}
	if alone.Decision != RegressionOfRuns || many.Rows[0].Decision != Undecided || *many.Rows[0].P <= *alone.Rows[0].P || many.Rows[0].Low >= alone.Rows[0].Low {
		t.Errorf("alone %s (p %v), among 20 %s (p %v)", alone.Decision, *alone.Rows[0].P, many.Rows[0].Decision, *many.Rows[0].P)
	}
	add(values[0])
	if g, _ := Judge(c, 0.01, Asked{}); g.Rows[20].Decision != RegressionOfRuns {
		t.Errorf("a clear worsening among many: %+v", g.Rows[20])
	}
}

func TestGateRefusesBadQuestions(t *testing.T) {
	a := synthetic(t, storetest.Options{Seed: 1}, nil)
	c := runs(t, a, a, Options{})
	for _, limit := range []float64{-0.01, 1, math.NaN(), math.Inf(1)} {
		if _, err := Judge(c, limit, Asked{}); !errors.Is(err, bench.ErrInvalid) {
			t.Errorf("limit %v: %v", limit, err)
		}
	}
	_, err := Judge(c, 0.05, Asked{Metrics: []string{"speed"}})
	if !errors.Is(err, bench.ErrInvalid) || !strings.Contains(err.Error(), `"speed"`) || !strings.Contains(bench.HintOf(err), "throughput") {
		t.Errorf("an unknown metric: %v", err)
	}
}

// The baseline's own change is the host's: it decides only if it is asked for, or alone.
func TestGateOfPlatforms(t *testing.T) {
	a, b := synthetic(t, storetest.Options{Seed: 1}, nil), synthetic(t, storetest.Options{Seed: 2, Ratio: slower(0.8, "native")}, nil)
	c := runs(t, a, b, Options{})
	for _, x := range []struct {
		platforms []string
		want      Decision
	}{{nil, PassOfRuns}, {[]string{"native"}, RegressionOfRuns}, {[]string{"native", "lxc"}, RegressionOfRuns}, {[]string{"lxc"}, PassOfRuns}} {
		g, err := Judge(c, 0.05, Asked{Platforms: x.platforms})
		if err != nil {
			t.Fatal(err)
		}
		if g.Decision != x.want {
			t.Errorf("%v: %s, not %s: %s", x.platforms, g.Decision, x.want, g.Why)
		}
		for _, r := range g.Rows {
			if x.platforms == nil && r.Platform == "native" || x.platforms != nil && !slices.Contains(x.platforms, r.Platform) {
				t.Errorf("%v: a row of %s", x.platforms, r.Platform)
			}
		}
	}
	if _, err := Judge(c, 0.05, Asked{Platforms: []string{"kvm"}}); !errors.Is(err, bench.ErrInvalid) || !strings.Contains(bench.HintOf(err), "they have native, docker, lxc") {
		t.Errorf("a platform that is in neither: %v", err)
	}
}
