package analysis

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/result/store/storetest"
)

func TestAnalyzeFindsWhatTheGeneratorPutIn(t *testing.T) {
	r := storetest.Synthetic(t, t.TempDir(), storetest.Options{Seed: 5, FailEvery: 50})
	result := analyze(t, r)
	if len(result.Cases) != len(storetest.Cases()) || len(result.Platforms) != 4 || len(result.Observer.Levels) != 3 {
		t.Fatalf("%d cases, %d platforms, %+v", len(result.Cases), len(result.Platforms), result.Observer)
	}
	for _, c := range result.Cases {
		for _, u := range c.Usage {
			if !u.Unattributed.Known || math.Abs(u.Unattributed.Value-0.005) > 0.001 {
				t.Errorf("%s on %s: %.4f cores unattributed, 0.005 were put in; notes %q", c.Name, u.Platform, u.Unattributed.Value, u.Notes)
			}
			if !u.OtherCPU.Known || math.Abs(u.OtherCPU.Value-0.055) > 0.003 {
				t.Errorf("%s on %s: rest of host %.4f cores, 0.055 were put in; notes %q", c.Name, u.Platform, u.OtherCPU.Value, u.Notes)
			}
		}
		for _, row := range c.Rows {
			if c.Kind == bench.Startup || row.Effect == nil || row.Metric.Better != bench.HigherIsBetter {
				continue
			}
			if want := storetest.DefaultRatio[row.Platform]; math.Abs(row.Effect.Ratio/want-1) > 0.03 {
				t.Errorf("%s on %s: ratio %.4f, %.4f was put in", c.Name, row.Platform, row.Effect.Ratio, want)
			}
		}
	}
	s := result.Series
	if s == nil || s.Platform == "native" || s.Label != "" || s.Window != [2]float64{0, 10} {
		t.Fatalf("series %+v", s)
	}
	for _, l := range s.Lines {
		if len(l.T) != len(l.Y) || len(l.T) < 10 {
			t.Errorf("line %s: %d times, %d values", l.Name, len(l.T), len(l.Y))
		}
	}
}

func TestDamagedSamplesCostTheirTrialOnly(t *testing.T) {
	dir := t.TempDir()
	r := storetest.Synthetic(t, dir, storetest.Options{Seed: 5, Blocks: 3, Cases: []string{"cpu"}})
	trial := r.Plan().Trials[0]
	if err := os.WriteFile(filepath.Join(dir, "samples", trial.ID+".jsonl"), []byte("{oops\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	result := analyze(t, r)
	if !strings.Contains(strings.Join(result.Warnings, "\n"), trial.ID+".jsonl:1: ") {
		t.Errorf("warnings %q", result.Warnings)
	}
	platform := r.Plan().Scene(trial.Scene).Platform.String()
	for _, u := range result.Cases[0].Usage {
		if want := map[bool]int{true: 2, false: 3}[u.Platform == platform]; u.N != want {
			t.Errorf("%s: usage of %d launches, want %d", u.Platform, u.N, want)
		}
	}
	for _, row := range result.Cases[0].Rows {
		want := 3
		if slices.Contains(bench.UsageMetrics, row.Metric) && row.Platform == platform {
			want = 2
		}
		if row.N != want {
			t.Errorf("%s, %s: %d launches, want %d", row.Platform, row.Metric.Name, row.N, want)
		}
	}
}

func TestObserverIsChargedPerSecond(t *testing.T) {
	// 7 readings over 13 s at 3 ms of CPU each, the first before the stretch.
	r := crafted{metric: throughput, platform: []string{"native"}, blocks: 1, values: map[string][]float64{"native": {1}},
		samples: func(string) (out []bench.Sample) {
			for i, at := range []float64{8, 9, 10, 12, 15, 20, 21} {
				out = append(out, bench.Sample{At: int64(at * 1e9), Late: 1e6, Took: 2e6, CPU: 3e6, Level: bench.Host, Meter: "proc", Values: map[string]float64{bench.ColCPUBusy: float64(i)}})
			}
			return out
		}}.write(t)
	l := analyze(t, r).Observer.Levels[0]
	approx(t, "CPU", l.CPU, 6*0.003/13)
	if math.Abs(l.LateP99-1) > 1.0/128 || math.Abs(l.TookP99-2) > 2.0/128 {
		t.Errorf("late %v ms, took %v ms: want 1 and 2, within a bucket", l.LateP99, l.TookP99)
	}
	if l.Samples != 7 || l.Level != bench.Host {
		t.Errorf("%+v", l)
	}
}
