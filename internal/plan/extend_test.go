package plan_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/plan"
)

func TestExtend(t *testing.T) {
	fixed := planned(t, "name: x\nblocks: 3\nplatforms: [native, lxc]\nscenes: [{name: a, workload: spin}]", inputs(2))
	ruled := planned(t, "name: x\nuntil: {interval: 1%, min: 3, max: 6}\nplatforms: [native, lxc]\nscenes: [{name: a, workload: spin}]", inputs(2))
	for _, c := range []struct {
		name  string
		of    *bench.Plan
		more  plan.More
		until bench.Until
		says  string
	}{
		{"blocks of a fixed number", fixed, plan.More{Blocks: 2, Finished: 6},
			bench.Until{Interval: 0.015, Min: 3, Max: 5, Looks: []int{3, 4, 5}}, "after 6 trials the run was given up to 2 more blocks"},
		{"time of a fixed number", fixed, plan.More{Budget: time.Minute, Spent: 2 * time.Minute, Finished: 6},
			bench.Until{Interval: 0.015, Min: 3, Max: 63, Budget: 3 * time.Minute}, "after 6 trials the run was given 1 min more, a budget of 3 min in all; "},
		{"blocks of a rule", ruled, plan.More{Blocks: 3},
			bench.Until{Interval: 0.01, Min: 3, Max: 9, Looks: []int{3, 4, 5, 6, 7, 8, 9}}, "up to 3 more blocks"},
		{"both", ruled, plan.More{Blocks: 1, Budget: time.Minute},
			bench.Until{Interval: 0.01, Min: 3, Max: 7, Budget: time.Minute, Looks: []int{3, 4, 5, 6, 7}}, "1 min more and up to 1 more block"},
	} {
		before := slices.Clone(c.of.Trials)
		got, err := plan.Extend(c.of, c.more)
		if err != nil {
			t.Fatal(c.name, err)
		}
		u := *got.Until
		if c.until.Looks == nil {
			c.until.Looks = u.Looks
		}
		if u.Interval != c.until.Interval || u.Min != c.until.Min || u.Max != c.until.Max || u.Budget != c.until.Budget || !slices.Equal(u.Looks, c.until.Looks) || got.Blocks != u.Max {
			t.Errorf("%s: %+v, want %+v", c.name, u, c.until)
		}
		if !slices.Equal(got.Trials[:len(before)], before) || !slices.Equal(c.of.Trials, before) || len(got.Trials) != 2*u.Max {
			t.Errorf("%s: %v", c.name, got.Trials)
		}
		ids := map[string]bool{}
		for _, trial := range got.Trials {
			ids[trial.ID] = true
		}
		if len(ids) != len(got.Trials) {
			t.Errorf("%s: two trials with one id", c.name)
		}
		if w := got.Warnings[len(got.Warnings)-1]; !strings.Contains(w, c.says) {
			t.Errorf("%s: %s", c.name, w)
		}
	}
	if got, err := plan.Extend(fixed, plan.More{Blocks: 100_000}); err != nil || got.Blocks != 1000 {
		t.Errorf("beyond the most blocks: %v", err)
	}
}
