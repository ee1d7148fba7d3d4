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

// Above the limit a row wears it, and so does what is compared with such a baseline.
func TestABusyLoadSideIsWorn(t *testing.T) {
	const its, base = "its load side was busy for 96 % of its CPU time and may be the limit", "native's load side was busy for 96 % of its CPU time and may be the limit"
	for _, c := range []struct {
		own, base   float64
		warns, worn string
	}{
		{0.85, 0.85, "", ""},
		{0.96, 0.2, its, its},
		{0.2, 0.96, "", base},
		{0.96, 0.96, its, its},
	} {
		row := result.Row{Effect: &result.Effect{Caution: "emulated"}}
		tellLoad(&row, c.own, c.base, "native")
		if row.LoadBusy != c.own || len(row.Warnings) != min(len(c.warns), 1) || len(c.warns) > 0 && row.Warnings[0] != c.warns || row.Effect.Loaded != c.worn {
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
	if tellLoad(&baseline, 0.96, 0.96, "native"); len(baseline.Warnings) != 1 {
		t.Errorf("the baseline's own row: %q", baseline.Warnings)
	}
}
