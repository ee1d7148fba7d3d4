package analysis

import (
	"math"
	"testing"
	"time"

	"tare/internal/bench"
)

// A value in turns is a ratio to the baseline already: the baseline's own trials are no part of a
// platform's row, however they scatter, nor of when it ends. They are the control.
func TestTurnsAreRatiosAlready(t *testing.T) {
	run := crafted{metric: bench.TurnMetrics[0], platform: []string{"native", "lxc"}, turns: 50 * time.Millisecond, blocks: 6,
		until:  &bench.Until{Interval: 0.05, Min: 3, Max: 6, Looks: []int{3, 4, 5, 6}},
		values: map[string][]float64{"native": {1.1, 0.8, 1.2}, "lxc": {0.9, 0.905, 0.895}}}
	r := analyze(t, run.write(t))
	if r.Trials.Missing != 0 || r.Trials.Asked != 6 {
		t.Errorf("lxc ends after 3 blocks: %+v", r.Trials)
	}
	e := r.Cases[0].Rows[1].Effect
	if want := math.Cbrt(0.9 * 0.905 * 0.895); e == nil || math.Abs(e.Ratio-want) > 1e-9 || e.N != 3 || e.High-e.Low > 0.1 {
		t.Errorf("%+v, want a ratio of %g", e, want)
	}
	c := r.Controls
	if c == nil || len(c.Rows) != 1 || c.Of != 1 {
		t.Fatalf("the baseline's own trials are no control: %+v", c)
	}
	if want := math.Cbrt(1.1 * 0.8 * 1.2); math.Abs(c.Rows[0].Effect.Ratio-want) > 1e-9 {
		t.Errorf("control %+v, want %g", c.Rows[0].Effect, want)
	}
}
