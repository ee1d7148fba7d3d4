package analysis

import (
	"math"
	"strings"
	"testing"

	"tare/internal/analysis/usage"
	"tare/internal/bench"
	"tare/internal/result"
	"tare/internal/result/store/storetest"
)

// The rate of a program that mostly waits is no finding, however clear it is; that of one that works,
// or that waits for a disk or a network, is.
func TestWaitingIsNoFinding(t *testing.T) {
	for _, c := range []struct {
		name  string
		cores float64
		cases []string
		waits bool
	}{
		{"stalls", 0.06, []string{"cpu"}, true},
		{"works", 0.5, []string{"cpu"}, false},
		{"waits for the disk", 0.06, []string{"disk"}, false},
		{"waits for the network", 0.06, []string{"network"}, false},
		{"serves beside traffic", 0.06, []string{"beside"}, false},
	} {
		run := storetest.Synthetic(t, t.TempDir(), storetest.Options{Blocks: 6, Seconds: 3, Seed: 3, Cores: c.cores, Cases: c.cases,
			Platforms: []bench.PlatformRef{{Name: "native"}, {Name: "docker"}, {Name: "lxc"}}, Ratio: map[string]float64{"native": 1, "docker": 1, "lxc": 111}})
		r, err := Analyze(run)
		if err != nil {
			t.Fatal(err)
		}
		run.Close()
		headline := true
		for _, row := range r.Cases[0].Rows {
			if row.Effect == nil || row.Metric.Better != bench.HigherIsBetter {
				continue
			}
			e := row.Effect
			if !row.Metric.Headline {
				t.Fatalf("%s: no headline", row.Metric.Name)
			}
			headline = false
			if waits := e.Waiting > 0; waits != c.waits || waits && (e.Verdict != result.Inconclusive || !strings.Contains(e.Words, "94 % idle, so this measures waiting")) || !waits && e.Ratio > 100 && e.Verdict != result.Differs {
				t.Errorf("%s, %s: waiting %v, %s: %s", c.name, row.Platform, e.Waiting, e.Verdict, e.Words)
			}
			if c.waits && (e.Low <= 0 || e.Needed == 0 || !strings.Contains(e.Why, "give it more to do")) {
				t.Errorf("%s, %s: %+v", c.name, row.Platform, e)
			}
		}
		if headline {
			t.Errorf("%s: nothing compared", c.name)
		}
		said := strings.Join(r.Summary.Sentences, "\n")
		if strings.Contains(said, "measures waiting") != c.waits || strings.Contains(said, "times as fast") == c.waits {
			t.Errorf("%s: %s", c.name, said)
		}
		questioned := strings.Contains(strings.Join(r.Summary.Cautions, "\n"), "times as fast as the bare host is not plausible")
		if questioned == c.waits {
			t.Errorf("%s: cautions %q", c.name, r.Summary.Cautions)
		}
	}
}

// A program that may use a tenth of a CPU, and does, works.
func TestWaitingByWhatItMayUse(t *testing.T) {
	known := func(v float64) result.Measured { return result.Measured{Value: v, Known: true} }
	u := &usage.Launch{Usage: result.Usage{GuestCPU: known(0.08), LayerCPU: known(0.01)}}
	for cpus, want := range map[float64]float64{0: 0, 0.1: 0, 1: 0.91, 4: 0.9775} {
		if got := waiting(u, cpus); math.Abs(got-want) > 1e-9 {
			t.Errorf("of %v CPUs: %v, want %v", cpus, got, want)
		}
	}
	if u.LayerCPU.Known = false; waiting(u, 1) != 0 {
		t.Error("what is not known waits")
	}
}
