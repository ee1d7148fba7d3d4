package analysis

import (
	"strings"
	"testing"

	"tare/internal/analysis/audit"
	"tare/internal/bench"
	"tare/internal/result"
	"tare/internal/result/store"
)

// unlike is a run of three platforms whose second has another kernel though it
// is a container, and whose third is in order.
func unlike(t *testing.T) *store.Run {
	return crafted{
		metric: throughput, platform: []string{"native", "docker", "lxc"}, blocks: 3,
		values: map[string][]float64{"native": {100, 101, 99}, "docker": {80, 81, 80}, "lxc": {90, 91, 90}},
		edit: func(o *bench.Outcome) {
			o.Actors[0].Kernel = "6.12.1"
			if o.Actors[0].Platform.Name == "docker" {
				o.Actors[0].Kernel = "5.10.0"
			}
		},
	}.write(t)
}

func TestUnfairComparisonShowsNoRatio(t *testing.T) {
	r := analyze(t, unlike(t))
	rows := r.Cases[0].Rows
	e := rows[1].Effect
	if e.Verdict != result.Unfair || e.Ratio != 0 || e.Low != 0 || e.High != 0 || e.Cost != 0 || e.Overhead != 0 || len(e.Ratios) != 0 || e.HasRatio() {
		t.Errorf("%+v", e)
	}
	if !strings.HasPrefix(e.Words, "no comparison: kernel (5.10.0 against 6.12.1): ") || !strings.Contains(r.Cases[0].Answer, e.Words) {
		t.Errorf("%q in %q", e.Words, r.Cases[0].Answer)
	}
	if rows[1].Median != 80 {
		t.Errorf("the platform's own median %v", rows[1].Median)
	}
	if e := rows[2].Effect; e.Verdict != result.Differs || e.Unfair != "" || len(e.Audit.Invalid()) > 0 {
		t.Errorf("the fair platform: %+v", e)
	}
}

func TestUnfairComparisonAllowedWearsIt(t *testing.T) {
	r, err := AnalyzeWith(unlike(t), Options{AllowUnfair: true})
	if err != nil {
		t.Fatal(err)
	}
	e := r.Cases[0].Rows[1].Effect
	if e.Verdict != result.Differs || e.Ratio == 0 || e.Unfair == "" || !strings.HasSuffix(e.Words, " [unfair: kernel]") {
		t.Errorf("%+v", e)
	}
}

// What was read while the trials ran reaches the audit: load, steal and swap.
func TestAuditSeesTheSamples(t *testing.T) {
	r := analyze(t, crafted{
		metric: throughput, platform: []string{"native", "docker"}, blocks: 3,
		values: map[string][]float64{"native": {100, 101, 99}, "docker": {80, 81, 80}},
		edit:   func(o *bench.Outcome) { o.Actors[0].Scope.Cgroups = map[string]string{"cpuacct": "/x"} },
		samples: func(trial string) []bench.Sample {
			busy, swapped := 1.1, 0.0
			if strings.HasSuffix(trial, "docker") {
				busy, swapped = 1.9, 32e6
			}
			var out []bench.Sample
			for _, at := range []int64{10e9, 20e9} {
				s := float64(at-10e9) / 1e9
				out = append(out,
					bench.Sample{At: at, Level: bench.Layer, Actor: "subject", Meter: "cgroup", Values: map[string]float64{bench.ColCPUBusy: s}},
					bench.Sample{At: at, Level: bench.Host, Meter: "proc", Values: map[string]float64{
						bench.ColCPUBusy: busy * s, bench.ColCPUSteal: 0.01 * s, bench.ColSwapUsed: swapped * s / 10}})
			}
			return out
		},
	}.write(t))
	a := r.Cases[0].Rows[1].Effect.Audit
	found := map[string]audit.Check{}
	for _, c := range a.Checks {
		found[c.Name] = c
	}
	if c := found["background load"]; c.State != audit.Invalid || c.Subject != "0.90 cores" || c.Baseline != "0.10 cores" {
		t.Errorf("%+v", c)
	}
	if c := found["steal"]; c.State != audit.Same {
		t.Errorf("%+v", c)
	}
	if c := found["swap"]; c.State != audit.Invalid || c.Baseline != "nothing swapped out" {
		t.Errorf("%+v", c)
	}
}
