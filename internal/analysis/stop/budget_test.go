package stop

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
)

// budgeted is a plan of two cases on two platforms, each trial of which takes a
// second by estimate, with a budget.
func budgeted(budget time.Duration) *bench.Plan {
	p := &bench.Plan{Blocks: 8, Baseline: "native", Margin: 0.03, Metrics: map[string][]bench.Metric{},
		Until: &bench.Until{Interval: 0.02, Min: 3, Max: 8, Looks: []int{3, 4, 5, 6, 7, 8}, Budget: budget}}
	for _, name := range []string{"cpu", "disk"} {
		p.Metrics[name] = []bench.Metric{{Name: "throughput", Better: bench.HigherIsBetter, Headline: true}}
		for _, platform := range []string{"native", "lxc"} {
			p.Scenes = append(p.Scenes, bench.Scene{ID: name + "/" + platform, Case: name, Platform: bench.PlatformRef{Name: platform}, Estimate: 1})
		}
	}
	for b := 1; b <= p.Blocks; b++ {
		for _, s := range p.Scenes {
			p.Trials = append(p.Trials, bench.Trial{ID: fmt.Sprintf("b%02d-%s", b, s.ID), Block: b, Scene: s.ID})
		}
	}
	return p
}

// lasting is the outcome of a trial that took so long.
func lasting(t bench.Trial, took time.Duration, value float64) *bench.Outcome {
	return &bench.Outcome{Trial: t.ID, Block: t.Block, Scene: t.Scene, Status: bench.Done,
		Phases: []bench.Phase{{Name: "setup", Start: 5, End: 5}, {Name: "close", Start: 5, End: 5 + int64(took)}},
		Values: []bench.Value{{Metric: "throughput", Value: value}}}
}

// carriedOut runs the plan as the runner does, each trial a second, and returns what
// was run in each case on lxc.
func carriedOut(p *bench.Plan, ratio func(scene string, block int) float64) (map[string]int, map[string]*bench.Outcome) {
	w := NewWatch(p)
	ran, last := map[string]int{}, map[string]*bench.Outcome{}
	enough := map[string]bool{}
	for i, t := range p.Trials {
		if !enough[t.Scene] {
			if w.Over(i) {
				break
			}
			o := lasting(t, time.Second, ratio(t.Scene, t.Block))
			w.Learn(o)
			last[t.ID] = o
			ran[t.Scene]++
		}
		if i+1 == len(p.Trials) || p.Trials[i+1].Block != t.Block {
			for _, s := range p.Scenes {
				enough[s.ID] = enough[s.ID] || w.Enough(s.ID, t.Block)
			}
		}
	}
	return ran, last
}

// wild is never decided on the disk, and calm on the CPU.
func wild(scene string, block int) float64 {
	if scene == "disk/lxc" {
		return []float64{0.5, 2, 1.1, 0.6}[block%4]
	}
	return 1
}

func TestBudgetGoesToWhatIsNotDecided(t *testing.T) {
	for _, c := range []struct {
		budget    time.Duration
		cpu, disk int
		over      bool
	}{
		{time.Second, 3, 3, true}, // the min is run whatever it takes
		{12 * time.Second, 3, 3, true},
		{13 * time.Second, 3, 3, true}, // not enough for both sides
		{14 * time.Second, 3, 4, true},
		{19 * time.Second, 3, 6, true},
		{time.Hour, 3, 8, false},
		{0, 3, 8, false},
	} {
		p := budgeted(c.budget)
		ran, last := carriedOut(p, wild)
		if ran["cpu/lxc"] != c.cpu || ran["cpu/native"] != c.cpu || ran["disk/lxc"] != c.disk || ran["disk/native"] != c.disk {
			t.Errorf("%v: %v, want %d and %d", c.budget, ran, c.cpu, c.disk)
		}
		ends := Replay(p, outcomesOf(p, last))
		if ends.Over != c.over {
			t.Errorf("%v: over %v, want %v", c.budget, ends.Over, c.over)
		}
		for i := range p.Scenes {
			s := &p.Scenes[i]
			if end, ended := ends.Of(s); !ended || end != ran[s.ID] {
				t.Errorf("%v: %s ended after %d blocks, %v; it ran %d", c.budget, s.ID, end, ended, ran[s.ID])
			}
		}
		for _, trial := range p.Trials {
			if ends.Needs(trial) != (last[trial.ID] != nil) {
				t.Errorf("%v: %s needed: %v", c.budget, trial.ID, ends.Needs(trial))
			}
		}
		if s := ends.Cases[1]; c.over && (s.Settled || s.Why != fmt.Sprintf("the budget of %.0f s is used up after %d blocks; not decided: lxc", c.budget.Seconds(), c.disk)) {
			t.Errorf("%v: %+v", c.budget, s)
		}
		if s := ends.Cases[0]; !s.Settled || !strings.Contains(s.Why, "after 3 blocks") {
			t.Errorf("%v: cpu %+v", c.budget, s)
		}
	}
}

// outcomesOf are those of a map.
func outcomesOf(p *bench.Plan, last map[string]*bench.Outcome) *Outcomes {
	all := NewOutcomes(p)
	for _, o := range last {
		all.Add(o)
	}
	return all
}

// A family that was begun is finished, and what a trial takes is learnt from those before.
func TestBudgetFinishesWhatWasBegun(t *testing.T) {
	p := budgeted(26 * time.Second)
	last := map[string]*bench.Outcome{}
	for _, trial := range p.Trials[:12] {
		last[trial.ID] = lasting(trial, 2*time.Second, wild(trial.Scene, trial.Block))
	}
	// 24 s are spent, and a family takes four: it is over, though the estimate says two.
	if ends := Replay(p, outcomesOf(p, last)); !ends.Over {
		t.Errorf("%+v", ends.Cases)
	}
	begun := p.Trials[14]
	last[begun.ID] = lasting(begun, 2*time.Second, 1)
	if ends := Replay(p, outcomesOf(p, last)); ends.Over || !ends.Needs(p.Trials[15]) {
		t.Errorf("begun: %+v", ends.Cases)
	}
	last[begun.ID].Status = bench.Aborted
	if ends := Replay(p, outcomesOf(p, last)); !ends.Over {
		t.Errorf("aborted: %+v", ends.Cases)
	}
}

// What a run is given is weighed against what it must run, and what it might begin with.
func TestAheadOfABudget(t *testing.T) {
	for _, c := range []struct {
		name       string
		done       int // trials, of four to a block, two of them run together
		took       time.Duration
		owed, next time.Duration
	}{
		{"nothing yet, by the estimates", 0, 0, 12 * time.Second, 2 * time.Second},
		{"within the fewest blocks", 9, 3 * time.Second, 9 * time.Second, 6 * time.Second},
		{"the fewest blocks are done", 12, 3 * time.Second, 0, 6 * time.Second},
		{"in the middle of what runs together", 13, 3 * time.Second, 3 * time.Second, 6 * time.Second},
		{"all is done", 32, 3 * time.Second, 0, 0},
	} {
		p := budgeted(time.Nanosecond)
		got, err := AheadOf(p, func(yield func(*bench.Outcome, error) bool) {
			for i, trial := range p.Trials[:c.done] {
				if !yield(lasting(trial, c.took, []float64{1, 2, 1, 0.5, 3}[i%5]), nil) {
					return
				}
			}
		})
		if err != nil || got.Owed != c.owed || got.Next != c.next {
			t.Errorf("%s: %+v, %v, want %v and %v", c.name, got, err, c.owed, c.next)
		}
	}
}
