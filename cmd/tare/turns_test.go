package main

import (
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"tare/internal/bench"
)

const turnsScene = `  - {name: turns, workload: sysbench-cpu, timing: {warmup: 0s, measure: 1s}, turns: 50ms}`

// TestTurns has real platforms take turns with native: both sides work about half the time, and
// neither while the other does. Killed in the middle of a turn, it leaves nothing after a clean.
func TestTurns(t *testing.T) {
	state := realState(t)
	for _, platform := range []string{"native", "lxc", "docker"} {
		t.Run(platform, func(t *testing.T) {
			list := "native, " + platform
			if platform == bench.Native {
				list = platform
			}
			dir := filepath.Join(t.TempDir(), "results")
			args := []string{"run", writeSpec(t, list, turnsScene), "-o", dir, "-v", "--set", "blocks=2"}
			p := start(t, state, args...)
			run := p.await(runID)[1]
			p.await(`: measure$`)
			f := footprintOf(t, state, run)
			time.Sleep(200*time.Millisecond + rand.N(500*time.Millisecond)) // into the turns
			if err := p.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			p.end()
			start(t, state, "clean").ends(exitDone)
			f.checkGone(t)

			p = start(t, state, "resume", dir)
			run = p.await(runID)[1]
			p.end()
			footprintOf(t, state, run).checkGone(t)
			all := outcomes(t, dir)
			if len(all) == 0 {
				t.Fatalf("no trial:\n%s", p.stderr())
			}
			for _, o := range all {
				if o.Status != bench.Done || o.Turns == nil || len(o.Turns.Sides) != 2 {
					t.Errorf("%s: %s in %s: %s", o.Scene, o.Status, o.Phase, o.Error)
					continue
				}
				t.Logf("%s: %v, %+v", o.Scene, o.Values, *o.Turns)
				sum := o.Turns.Sides[0].Seconds + o.Turns.Sides[1].Seconds
				if sum > 1.3 || o.Turns.Taken < 5 {
					t.Errorf("%s: the sides worked for %.2f s of 1 s, in %d turns", o.Scene, sum, o.Turns.Taken)
				}
				if v := o.Values; len(v) != 1 || v[0].Metric != "rate_in_turns" || v[0].Value < 0.2 || v[0].Value > 5 {
					t.Errorf("%s: %v", o.Scene, v)
				}
			}
		})
	}
}
