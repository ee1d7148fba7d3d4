package main

import (
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tare/internal/bench"
)

// TestKilled kills a run, and its resumptions, in the middle of the launch, the
// measurement and the close of each platform. Cleaning leaves nothing, and
// resuming finishes the rest without losing or repeating a finished trial.
func TestKilled(t *testing.T) {
	state := realState(t)
	for _, c := range []struct {
		platform string
		launch   time.Duration // about how long one takes; closing takes less
	}{
		{"native", 4 * time.Millisecond},
		{"lxc", 15 * time.Millisecond},
		{"docker", 250 * time.Millisecond},
		{"qemu-tcg", 5 * time.Second},
	} {
		t.Run(c.platform, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "results")
			spec := writeSpec(t, c.platform, cpuScene)
			args := []string{"run", spec, "-o", dir, "-v", "--set", "blocks=3"}
			finished := map[string]*bench.Outcome{}
			for _, at := range []struct {
				phase string
				most  time.Duration // from the phase's begin until the kill
			}{
				{"launch", c.launch},
				{"measure", 250 * time.Millisecond},
				{"close", c.launch / 4},
			} {
				p := start(t, state, args...)
				run := p.await(runID)[1]
				if len(finished) == 0 {
					p.await(`^1/3 `) // so that there is something to lose
				}
				trial := p.await(`^(\S+) \S+: ` + at.phase + `$`)[1]
				f := footprintOf(t, state, run)
				delay := rand.N(at.most)
				time.Sleep(delay)
				if err := p.cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				if status := p.end(); status != -1 {
					t.Fatalf("the run was over, with status %d, %v into the %s of %s", status, delay, at.phase, trial)
				}
				t.Logf("killed %v into the %s of %s; it left %d processes, %d cgroups, %d mounts and %d things in the ledger",
					delay, at.phase, trial, len(f.processes()), len(f.groups()), len(f.mounts()), len(f.registered()))
				if at.phase == "measure" && (len(f.testnets) == 0 || len(f.groups()) == 0 || len(f.mounts()) == 0 || len(f.registered()) == 0) {
					t.Error("the test does not see what a killed run leaves")
				}
				clean := start(t, state, "clean")
				clean.ends(exitDone)
				f.checkGone(t)
				now := outcomes(t, dir)
				checkKept(t, finished, now)
				finished = now
				args = []string{"resume", dir, "-v"}
			}
			if len(finished) == 0 {
				t.Error("the killed runs finished no trial, so that the test shows nothing")
			}
			p := start(t, state, args...)
			run := p.await(runID)[1]
			p.end()
			footprintOf(t, state, run).checkGone(t)
			now := outcomes(t, dir)
			checkKept(t, finished, now)
			if len(now) != 3 {
				t.Errorf("after resuming %v of 3 trials have an outcome:\n%s", slices.Sorted(maps.Keys(now)), p.stderr())
			}
			for _, o := range now {
				if o.Status != bench.Done {
					t.Errorf("trial %s is %s in %s: %s", o.Trial, o.Status, o.Phase, o.Error)
				}
			}
		})
	}
}

// checkKept fails the test if a finished trial was lost or measured again.
func checkKept(t *testing.T, before, now map[string]*bench.Outcome) {
	t.Helper()
	for id, o := range before {
		if n := now[id]; n == nil || n.Started != o.Started || n.Status != o.Status {
			t.Errorf("trial %s, finished before the run was killed, is not as it was", id)
		}
	}
}
