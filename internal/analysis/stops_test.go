package analysis

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"tare/internal/analysis/effect"
	"tare/internal/analysis/stats"
	"tare/internal/analysis/stop"
	"tare/internal/bench"
)

// ruled is a crafted run of native and lxc under a stopping rule, in which lxc
// has the given ratios; NaN is a launch that failed.
func ruled(t *testing.T, ratios ...float64) crafted {
	t.Helper()
	native, lxc := []float64{}, []float64{}
	for i, r := range ratios {
		native = append(native, 100+float64(i))
		lxc = append(lxc, r*(100+float64(i)))
	}
	return crafted{metric: throughput, platform: []string{"native", "lxc"}, blocks: 9,
		until:  &bench.Until{Interval: 0.03, Min: 3, Max: 9, Looks: []int{3, 5, 9}},
		values: map[string][]float64{"native": native, "lxc": lxc}}
}

func TestACaseEndsWhereItsIntervalIsNarrow(t *testing.T) {
	ratios := []float64{0.80, 0.95, 0.90, 0.899, 0.901, 0.90, 0.90}
	calm := []float64{0.900, 0.901, 0.899}
	nan := math.NaN()
	for _, c := range []struct {
		name          string
		ratios        []float64
		ended, narrow bool
		blocks, looks int
		missing       int // of those asked for
		why           string
	}{
		{"nothing yet", nil, false, false, 0, 0, 6, "goes on: the next look is after 3 blocks"},
		{"between looks", ratios[:4], false, false, 4, 1, 2, "goes on: the next look is after 5 blocks"},
		{"narrow at the first look", calm, true, true, 3, 1, 0, "lxc ±0.4 % after 3 blocks"},
		{"wide until the end", []float64{0.7, 0.8, 0.9, 1, 1.1, 0.7, 0.8, 0.9, 1}, true, false, 9, 3, 0, "9 blocks, the most allowed; neither decided nor within ±3 %: lxc ±"},
		{"a launch failed before the look", []float64{0.900, nan, 0.901}, false, false, 3, 1, 4, "goes on: the next look is after 5 blocks"},
		{"and the case went on", []float64{0.900, nan, 0.901, 0.899, 0.9}, true, true, 5, 2, 0, "lxc ±"},
		{"every launch failed", slices.Repeat([]float64{nan}, 3), true, true, 3, 1, 0, "lxc has no ratio after 3 blocks"},
		{"run on for some reason", append(slices.Clone(calm), 0.9), false, false, 4, 1, 2, "goes on: the next look is after 5 blocks"},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := ruled(t, c.ratios...)
			for i, r := range c.ratios {
				if r != r {
					run.values["native"][i] = 100 // only lxc's failed
				}
			}
			stored := run.write(t)
			result := analyze(t, stored)
			s := result.Stops[0]
			if s.Case != "cpu" || s.Ended != c.ended || s.Settled != c.narrow || s.Blocks != c.blocks || len(s.Looks) != c.looks || !strings.HasPrefix(s.Why, c.why) {
				t.Errorf("%+v", s)
			}
			again, err := stop.Read(stored.Plan(), stored.Outcomes())
			if err != nil || again.Cases[0].Ended != s.Ended || again.Cases[0].Blocks != s.Blocks {
				t.Errorf("asked while running: %+v, %v", again, err)
			}
			n := result.Trials
			if n.Missing != c.missing || n.Planned != 18 || n.Done+n.Failed+n.Missing != n.Asked || n.Asked > 18 || s.Ended && n.Asked+n.NotNeeded != 18 || result.Complete != (c.missing == 0) {
				t.Errorf("%+v, complete %v", n, result.Complete)
			}
			if row := result.Cases[0].Rows[0]; row.Missing*2 != c.missing {
				t.Errorf("%d launches missing of a row", row.Missing)
			}
			for _, row := range result.Cases[0].Rows {
				want := fmt.Sprintf("%d of %d launches are missing", c.missing/2, n.Asked/2)
				if slices.Contains(row.Warnings, want) != (c.missing > 0) {
					t.Errorf("%s: %q, want %q", row.Platform, row.Warnings, want)
				}
			}
		})
	}
}

// A platform ends by itself; the baseline goes on as long as any.
func TestEachPlatformEndsWhereItsIntervalIsNarrow(t *testing.T) {
	run := ruled(t, 0.900, 0.901, 0.899) // lxc
	run.platform = append(run.platform, "docker")
	run.values["docker"] = nil
	for b, r := range []float64{0.80, 1.15, 0.90, 1.099, 0.901, 1.10, 0.90, 1.10, 0.90} {
		if b < 3 {
			run.values["native"][b] = 100
			run.values["lxc"][b] = 100 * (0.9 + 0.001*float64(b))
		} else {
			run.values["native"] = append(run.values["native"], 100)
		}
		run.values["docker"] = append(run.values["docker"], 100*r)
	}
	stored := run.write(t)
	result := analyze(t, stored)
	s := result.Stops[0]
	if !s.Ended || s.Settled || s.Blocks != 9 || s.Platforms["lxc"] != 3 || s.Platforms["docker"] != 9 ||
		!strings.HasPrefix(s.Why, "lxc ±0.4 % after 3 blocks; 9 blocks, the most allowed; neither decided nor within ±3 %: docker ±") {
		t.Errorf("%+v", s)
	}
	if len(s.Looks[0].Widths) != 2 || len(s.Looks[1].Widths) != 1 {
		t.Errorf("looks: %+v", s.Looks)
	}
	if n := result.Trials; !result.Complete || n.NotNeeded != 6 || n.Missing != 0 {
		t.Errorf("%+v, complete %v", n, result.Complete)
	}
	for _, row := range result.Cases[0].Rows {
		if row.Missing > 0 || row.Effect != nil && row.Effect.Confidence != s.Confidence {
			t.Errorf("%s: %+v", row.Platform, row)
		}
		if row.Platform == "lxc" && (row.Effect.N != 3 || strings.Contains(row.Effect.Why, "blocks have both")) {
			t.Errorf("lxc: %+v", row.Effect)
		}
	}
	ends, err := stop.Read(stored.Plan(), stored.Outcomes())
	if err != nil {
		t.Fatal(err)
	}
	for scene, want := range map[string]int{"cpu/native": 9, "cpu/lxc": 3, "cpu/docker": 9} {
		if end, ended := ends.Of(stored.Plan().Scene(scene)); !ended || end != want {
			t.Errorf("%s ends at %d, %v; want %d", scene, end, ended, want)
		}
	}
}

// The interval shown is the one that was looked at: corrected for looking.
func TestTheFinalIntervalIsThatOfTheLook(t *testing.T) {
	ratios := []float64{0.900, 0.901, 0.899}
	result := analyze(t, ruled(t, ratios...).write(t))
	e, s := result.Cases[0].Rows[1].Effect, result.Stops[0]
	level := stats.LevelsOf(len(result.Until.Looks), effect.Confidence).Usual
	if level <= effect.Confidence || e.Confidence != level || s.Confidence != level || s.Looks[0].Confidence != level {
		t.Errorf("confidence %g of the effect, %g of the case, want %g", e.Confidence, s.Confidence, level)
	}
	want, err := stats.RatioInterval(ratios, level)
	if err != nil || math.Abs(e.Low-want.Low) > 1e-9 || math.Abs(e.High-want.High) > 1e-9 {
		t.Errorf("%g to %g, want %+v, %v", e.Low, e.High, want, err)
	}
	if width := (e.High - e.Low) / 2 / e.Ratio; math.Abs(width-s.Looks[0].Widths["lxc"]) > 1e-9 {
		t.Errorf("width %g shown, %g looked at", width, s.Looks[0].Widths["lxc"])
	}
	if strings.Contains(e.Why, "blocks have both") || !strings.Contains(result.Method, "any of 3 looks") {
		t.Errorf("%s; %s", e.Why, result.Method)
	}
	fixed := ruled(t, ratios...)
	fixed.until = nil
	plain := analyze(t, fixed.write(t))
	if p := plain.Cases[0].Rows[1].Effect; p.Confidence != effect.Confidence || p.High-p.Low >= e.High-e.Low || plain.Stops != nil || plain.Complete {
		t.Errorf("without a rule: %+v", p)
	}
}

// An aborted trial is not an outcome the rule may count: resume runs it again.
func TestAnAbortedTrialKeepsItsBlockOpen(t *testing.T) {
	run := ruled(t, 0.900, 0.901, 0.899)
	run.edit = func(o *bench.Outcome) {
		if o.Trial == "b03-lxc" {
			o.Status, o.Values = bench.Aborted, nil
		}
	}
	result := analyze(t, run.write(t))
	if s := result.Stops[0]; s.Ended || s.Blocks != 2 || len(s.Looks) != 0 {
		t.Errorf("%+v", s)
	}
}
