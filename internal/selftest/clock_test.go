package selftest

import (
	"iter"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/guest/agent"
)

func clockRun(actors ...bench.ActorOutcome) (*bench.Plan, iter.Seq2[*bench.Outcome, error]) {
	s := bench.Scene{ID: "idle/x", Case: "idle", Platform: bench.PlatformRef{Name: "x"}}
	return &bench.Plan{Scenes: []bench.Scene{s}}, func(yield func(*bench.Outcome, error) bool) {
		for i := range actors {
			o := &bench.Outcome{Scene: s.ID, Status: bench.Done, Actors: actors[i : i+1]}
			if !yield(o, nil) {
				return
			}
		}
	}
}

func clockOf(own bool, offsets ...int64) bench.ActorOutcome {
	var ps []bench.ClockProbe
	for i, o := range offsets {
		ps = append(ps, bench.ClockProbe{At: int64(i) * 1e9, Offset: o, Uncertainty: 40_000})
	}
	f := agent.FitClock(ps)
	return bench.ActorOutcome{Clock: &f, Scope: &bench.Scope{OwnKernel: own}}
}

func TestClocksOfContainers(t *testing.T) {
	p, outcomes := clockRun(
		clockOf(false, 5_000, -8_000, 12_000),
		// Three readings that all are off by ten times their own uncertainty: the bound is a lie.
		clockOf(false, 400_000, 400_000, 400_000))
	c, err := EvaluateClock(p, outcomes, agent.FitClock)
	if err != nil {
		t.Fatal(err)
	}
	if c.Held.K != 1 || c.Held.N != 2 || c.Containers.K != 2 || c.VMs.N != 0 || len(c.Rows) != 1 || *c.Rows[0].Error < 0.39 {
		t.Errorf("%+v", c)
	}
	held := map[string]Held{}
	for _, claim := range c.Finding(true).Claims {
		held[claim.Claim] = claim.Held
	}
	if held["where the true offset is known to be 0, the stated bound holds it"] != No || held["a container's clock is known within 1 ms"] != Open ||
		held["a step of 1 s is found wherever it falls"] != Open {
		t.Errorf("%v", held)
	}
	for _, s := range c.Steps {
		if s.Found.N != 2*2 || s.Size > 2 && s.Found.K != 4 {
			t.Errorf("a step of %g ms: %+v", s.Size, s.Found)
		}
	}
}

func TestClocksOfMachines(t *testing.T) {
	// The second clock goes 30 ms away and comes back, which its neighbours cannot explain.
	p, outcomes := clockRun(clockOf(true, 7_000_000_000, 7_000_010_000, 7_000_020_000), clockOf(true, 0, 30_000_000, 0))
	c, err := EvaluateClock(p, outcomes, agent.FitClock)
	if err != nil {
		t.Fatal(err)
	}
	if c.Held.N != 0 || c.VMs.K != 1 || c.VMs.N != 2 || c.Agree.K != 1 || c.Agree.N != 2 || c.Rows[0].Faults != 1 || c.Rows[0].Error != nil {
		t.Errorf("%+v", c)
	}
	tables := c.Finding(false).Tables
	if row := strings.Join(tables[0].Rows[0], " "); !strings.Contains(row, "not known") {
		t.Errorf("row %q", row)
	}
}

// What is promised of every case takes many cases to hold, and one to fail.
func TestAtAll(t *testing.T) {
	for _, c := range []struct {
		k, n int
		want Held
	}{{0, 0, Open}, {2, 2, Open}, {35, 35, Open}, {36, 36, Yes}, {1, 2, No}, {999, 1000, No}} {
		if got := atAll(proportion(c.k, c.n)); got != c.want {
			t.Errorf("%d of %d: %s, want %s", c.k, c.n, got, c.want)
		}
	}
}
