package compare

import (
	"errors"
	"math"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/result"
	"tare/internal/result/store/storetest"
)

// abRun is a synthetic run of two programs of crun.
func abRun(t *testing.T) Run {
	t.Helper()
	program := func(path string) bench.PlatformRef {
		return bench.PlatformRef{Name: "crun", Options: map[string]string{bench.ProgramOption: path}}
	}
	return synthetic(t, storetest.Options{Seed: 1, Platforms: []bench.PlatformRef{program("/a"), program("/b")}, Ratio: map[string]float64{"crun": 1}}, nil)
}

// scaled multiplies what B is of A.
func scaled(r Run, factor float64) Run {
	for i := range r.Result.Cases {
		for j := range r.Result.Cases[i].Rows {
			e := r.Result.Cases[i].Rows[j].Effect
			if e == nil {
				continue
			}
			e.Ratio, e.Low, e.High = e.Ratio*factor, e.Low*factor, e.High*factor
			for k := range e.Ratios {
				e.Ratios[k].Value *= factor
			}
		}
	}
	return r
}

func TestGateOfOneRunWithBothSides(t *testing.T) {
	for _, c := range []struct {
		factor, limit float64
		want          Decision
	}{{1, 0.05, Pass}, {0.9, 0.05, Regression}, {0.9, 0.2, Pass}, {0.9, 0.1, Undecided}} {
		c1, err := Within(scaled(abRun(t), c.factor))
		if err != nil {
			t.Fatal(err)
		}
		g, err := Judge(c1, c.limit, Asked{Metrics: []string{"throughput", "iops"}})
		if err != nil {
			t.Fatal(err)
		}
		if g.Decision != c.want {
			t.Errorf("%g with a limit of %g: %s, not %s: %s", c.factor, c.limit, g.Decision, c.want, g.Why)
		}
		if len(g.Rows) != 2 || c1.SpeaksFor != ThePlatform || c1.A[0].Platform != "crun[program=/a]" || c1.B[0].Platform != "crun[program=/b]" {
			t.Errorf("%d rows, speaks for %s, %+v, %+v", len(g.Rows), c1.SpeaksFor, c1.A, c1.B)
		}
		for _, r := range c1.Rows {
			if r.Change.Basis != OfBlocks || r.Platform != "crun[program=/b]" || r.A.N() != 8 || r.B.N() != 8 || r.Change.DF != 7 {
				t.Errorf("%+v", r)
			}
			low := r.Change.bounds.Lower(0.025)
			if math.Abs(low-r.Change.Low) > 1e-12 {
				t.Errorf("lower bound %g, the effect's %g", low, r.Change.Low)
			}
		}
		for _, r := range g.Rows {
			if r.Decision == Undecided && !strings.Contains(r.Decide, "block") {
				t.Errorf("what would decide: %s", r.Decide)
			}
		}
	}
}

func TestGateOfOneRunThatBroke(t *testing.T) {
	r := abRun(t)
	for i := range r.Result.Cases {
		for j := range r.Result.Cases[i].Rows {
			if row := &r.Result.Cases[i].Rows[j]; !row.Baseline {
				row.Failed, row.Points = row.N, nil
				row.Effect = &result.Effect{Verdict: result.Refused, Why: "no block"}
			}
		}
	}
	c, err := Within(r)
	if err != nil {
		t.Fatal(err)
	}
	if g, err := Judge(c, 0.05, Asked{}); err != nil || g.Decision != Regression || !strings.Contains(g.Why, "no launch finishes any more") {
		t.Errorf("%+v, %v", g, err)
	}
}

func TestWithinRefusesOtherPlatforms(t *testing.T) {
	_, err := Within(synthetic(t, storetest.Options{Seed: 1}, nil))
	if !errors.Is(err, bench.ErrInvalid) || !strings.Contains(err.Error(), "docker is not a variant of its baseline native") || !strings.Contains(bench.HintOf(err), "tare ab") {
		t.Errorf("%v, %s", err, bench.HintOf(err))
	}
	alone := synthetic(t, storetest.Options{Seed: 1, Platforms: platforms[:1]}, nil)
	if _, err := Within(alone); !errors.Is(err, bench.ErrInvalid) {
		t.Error(err)
	}
}
