package plan_test

import (
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/plan"
)

// A launch that is repeated takes its time again, also out of a budget, but for the fewest blocks.
func TestMostEstimate(t *testing.T) {
	p := &bench.Plan{Blocks: 4, Estimate: 42, Scenes: []bench.Scene{{ID: "a/native", Estimate: 10, Actors: []bench.Actor{{Platform: bench.PlatformRef{Name: "native"}}}}}}
	for b := 1; b <= 4; b++ {
		p.Trials = append(p.Trials, bench.Trial{Block: b, Scene: "a/native"})
	}
	expect := func(what string, want float64) {
		t.Helper()
		if got := plan.MostEstimate(p); got != want {
			t.Errorf("%s: %g s, want %g", what, got, want)
		}
	}
	expect("an old plan", 42)
	p.Disturbed = &bench.Disturbance{Above: 0.3}
	expect("no repeats", 42)
	p.Disturbed.Repeats = 2
	expect("each launched three times", 42+80)
	p.Until = &bench.Until{Min: 2, Max: 4}
	expect("with a rule", 42+80)
	p.Until.Budget, p.Estimate = 30*time.Second, 30
	expect("the fewest blocks in spite of the budget", 22+40)
	p.Until.Budget, p.Estimate = 2*time.Hour, 42
	expect("a budget that is never used up", 42+80)
	p.Until.Budget, p.Estimate = 70*time.Second, 42
	expect("a budget for most", 70)
}
