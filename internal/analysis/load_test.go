package analysis

import (
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/result"
)

// under is a launch whose load side was busy for a share of its two CPUs.
func under(share float64) *bench.Outcome {
	used := time.Duration(share * 2 * float64(10*time.Second))
	return &bench.Outcome{Actors: []bench.ActorOutcome{
		{Role: bench.Subject, CPUSet: []int{0}, Output: &bench.Output{Wall: 10 * time.Second, User: 10 * time.Second}}, // no load side
		{Role: bench.Peer, CPUSet: []int{1, 2}, Output: &bench.Output{Wall: 10 * time.Second, User: used / 4, System: used * 3 / 4}},
		{Role: bench.Peer, CPUSet: []int{3}}, // serves
		{Role: bench.Peer, CPUSet: []int{4}, Polls: true, Output: &bench.Output{Wall: 10 * time.Second, User: 10 * time.Second}},
	}}
}

func TestLoadBusy(t *testing.T) {
	l := &launches{}
	if got := l.loadBusy(); got != 0 {
		t.Errorf("of no launch: %v", got)
	}
	l.done = []*bench.Outcome{under(0.2), under(0.9), under(0.5)}
	if got := l.loadBusy(); got < 0.499 || got > 0.501 {
		t.Errorf("median of three: %v", got)
	}
}

// What the load program says of its rate is that of the median launch.
func TestLoadSideOfTheMedianLaunch(t *testing.T) {
	metrics := []bench.Metric{{Name: "requests", Headline: true}, {Name: "rate_held", Least: 98}}
	l := &launches{}
	if got := l.loadSide(metrics); got != (loadSide{}) {
		t.Errorf("of no launch: %+v", got)
	}
	for _, held := range []float64{99, 80, 97} {
		l.done = append(l.done, &bench.Outcome{Values: []bench.Value{{Metric: "requests", Value: 7}, {Metric: "rate_held", Value: held}}})
	}
	if got := l.loadSide(metrics); got != (loadSide{0, 97, 98}) {
		t.Errorf("of three: %+v", got)
	}
	if got := l.loadSide(metrics[:1]); got != (loadSide{}) {
		t.Errorf("where no metric tells: %+v", got)
	}
}

// Above the limit a row wears it, and so does what is compared with such a baseline.
func TestABusyLoadSideIsWorn(t *testing.T) {
	const its, base = "its load side was busy for 96 % of its CPU time and may be the limit", "native's load side was busy for 96 % of its CPU time and may be the limit"
	const slow, slowBase = "its load side asked at 97.9 % of its rate and may be the limit", "native's load side asked at 97.9 % of its rate and may be the limit"
	busy, held := func(share float64) loadSide { return loadSide{busy: share} }, func(percent float64) loadSide { return loadSide{0.5, percent, 98} }
	for _, c := range []struct {
		own, base   loadSide
		warns, worn string
	}{
		{busy(0.85), busy(0.85), "", ""},
		{busy(0.96), busy(0.2), its, its},
		{busy(0.2), busy(0.96), "", base},
		{busy(0.96), busy(0.96), its, its},
		{held(98), held(100), "", ""},
		{held(97.9), held(100), slow, slow},
		{held(99), held(97.9), "", slowBase},
		{loadSide{0.96, 97.9, 98}, held(100), slow, slow},
	} {
		row := result.Row{Effect: &result.Effect{Caution: "emulated"}}
		tellLoad(&row, c.own, c.base, "native")
		if row.LoadBusy != c.own.busy || len(row.Warnings) != min(len(c.warns), 1) || len(c.warns) > 0 && row.Warnings[0] != c.warns || row.Effect.Loaded != c.worn {
			t.Errorf("%v and %v: %+v, %q", c.own, c.base, row.Warnings, row.Effect.Loaded)
		}
		want := " [emulated]"
		if c.worn != "" {
			want += " [" + c.worn + "]"
		}
		if got := row.Effect.Worn(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	baseline := result.Row{Baseline: true}
	if tellLoad(&baseline, busy(0.96), busy(0.96), "native"); len(baseline.Warnings) != 1 {
		t.Errorf("the baseline's own row: %q", baseline.Warnings)
	}
}
