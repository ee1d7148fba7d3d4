package analysis

import (
	"math"
	"testing"

	"tare/internal/bench"
	"tare/internal/result"
	"tare/internal/result/store/storetest"
)

// What subjects and their layers used has rows by launch, with a ratio and an amount that is added,
// which agree with the means of the table of usage.
func TestUsedByLaunch(t *testing.T) {
	run := storetest.Synthetic(t, t.TempDir(), storetest.Options{Blocks: 4, Seconds: 5, Seed: 3,
		Platforms: []bench.PlatformRef{{Name: "native"}, {Name: "docker"}}})
	defer run.Close()
	r, err := Analyze(run)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, c := range r.Cases {
		for _, row := range c.Rows {
			var of func(u *result.Usage) float64
			switch row.Metric.Name {
			case "cpu_used":
				of = func(u *result.Usage) float64 { return u.GuestCPU.Value + u.LayerCPU.Value }
			case "memory_used":
				of = func(u *result.Usage) float64 { return (u.GuestMem.Value + u.LayerMem.Value) / float64(bench.MiB) }
			case "cpu_overhead":
				of = func(u *result.Usage) float64 { return 1 + u.LayerCPU.Value/u.GuestCPU.Value }
			default:
				continue
			}
			found++
			for i := range c.Usage {
				if u := &c.Usage[i]; u.Platform == row.Platform && math.Abs(row.Median/of(u)-1) > 0.05 {
					t.Errorf("%s, %s, %s: median %g, the table has %g", c.Name, row.Platform, row.Metric.Name, row.Median, of(u))
				}
			}
			if row.Metric.Headline || !row.Baseline && (!row.Effect.Exploratory || (row.Effect.Added != nil) != row.Metric.Adds) {
				t.Errorf("%s, %s, %s: %+v", c.Name, row.Platform, row.Metric.Name, row.Effect)
			}
		}
	}
	if want := 6 * 2 * 3; found != want { // cases that are sampled, platforms, metrics
		t.Errorf("%d rows, want %d", found, want)
	}
}
