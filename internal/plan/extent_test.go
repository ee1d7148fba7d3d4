package plan_test

import (
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/plan"
)

// A range has two ends that differ, and a plan is not said to come to more than its budget allows.
func TestExtent(t *testing.T) {
	for _, c := range []struct {
		name                 string
		until                *bench.Until
		estimate             float64
		trials, blocks, time string
	}{
		{"fixed", nil, 202, "20 trials", "10 blocks", "about 3 min 22 s"},
		{"a rule", &bench.Until{Min: 3, Max: 10}, 202, "at most 20 trials", "3 to 10 blocks", "about 1 min 2 s (3 blocks) to 3 min 22 s (10 blocks)"},
		{"a rule of one look", &bench.Until{Min: 10, Max: 10}, 202, "20 trials", "10 blocks", "about 3 min 22 s (10 blocks)"},
		{"a budget for all", &bench.Until{Min: 3, Max: 10, Budget: time.Hour}, 202, "at most 20 trials", "3 to 10 blocks",
			"about 1 min 2 s (3 blocks) to 3 min 22 s (10 blocks)"},
		{"a budget for some", &bench.Until{Min: 3, Max: 10, Budget: 110 * time.Second}, 110, "up to about 10 trials", "3 to 5 blocks by the budget",
			"about 1 min 2 s (3 blocks) to 1 min 50 s (the budget)"},
		{"a budget for the fewest", &bench.Until{Min: 3, Max: 10, Budget: 62 * time.Second}, 62, "about 6 trials", "3 blocks by the budget",
			"about 1 min 2 s (3 blocks)"},
		{"a budget for less", &bench.Until{Min: 3, Max: 10, Budget: 30 * time.Second}, 62, "about 6 trials", "3 blocks by the budget",
			"about 1 min 2 s (3 blocks), more than the budget of 30 s"},
	} {
		p := &bench.Plan{Blocks: 10, Estimate: c.estimate, Until: c.until}
		for _, name := range []string{"a/native", "b/native"} {
			p.Scenes = append(p.Scenes, bench.Scene{ID: name, Estimate: 10, Actors: []bench.Actor{{Platform: bench.PlatformRef{Name: "native"}}}})
		}
		for b := 1; b <= p.Blocks; b++ {
			p.Trials = append(p.Trials, bench.Trial{Block: b, Scene: "a/native"}, bench.Trial{Block: b, Scene: "b/native"})
		}
		trials, blocks, took := plan.Extent(p)
		if trials != c.trials || blocks != c.blocks || took != c.time {
			t.Errorf("%s: %q, %q, %q", c.name, trials, blocks, took)
		}
	}
}

// What stands in the way of a plan is said before its trials, of which there may be hundreds.
func TestWarningsStandBeforeTheTrials(t *testing.T) {
	p := planned(t, "name: x\nbudget: 10s\nplatforms: [native, lxc]\nscenes: [{name: a, workload: spin}]", inputs(2))
	var b strings.Builder
	if err := plan.Render(&b, p); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	warned, trials := strings.Index(text, "more than the budget of 10 s: they are run nevertheless"), strings.Index(text, "\nTRIAL ")
	if warned < 0 || warned > trials || strings.Contains(text, "at most 120 trials") {
		t.Errorf("warned at %d, trials at %d:\n%.600s", warned, trials, text)
	}
}
