package main

import (
	"maps"
	"math/rand/v2"
	"path/filepath"
	"regexp"
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
	for _, platform := range []string{"native", "lxc", "docker", "qemu-tcg"} {
		t.Run(platform, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "results")
			spec := writeSpec(t, platform, cpuScene)
			// A kill that comes when its phase is over meets the next trial. There is one more for that.
			args := []string{"run", spec, "-o", dir, "-v", "--set", "blocks=4"}
			finished := map[string]*bench.Outcome{}
			var took map[string]time.Duration // by phase, of the first trial
			for _, phase := range []string{"launch", "measure", "close"} {
				p := start(t, state, args...)
				run := p.await(runID)[1]
				if took == nil {
					took = phasesOf(p) // and then there is something to lose
				}
				trial := p.await(`^(\S+) \S+: ` + phase + `$`)[1]
				f := footprintOf(t, state, run)
				delay := rand.N(took[phase])
				time.Sleep(delay)
				if err := p.cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				if status := p.end(); status != -1 {
					t.Fatalf("the run was over, with status %d, %v into the %s of %s", status, delay, phase, trial)
				}
				t.Logf("killed %v into the %s of %s; it left %d processes, %d cgroups, %d mounts and %d things in the ledger",
					delay, phase, trial, len(f.processes()), len(f.groups()), len(f.mounts()), len(f.registered()))
				// On a busy host a measurement may be over sooner than the first one was: the kill is as good, and
				// finds less.
				over := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(trial) + ` \S+: collect$`).MatchString(p.stderr())
				if phase == "measure" && !over && (len(f.testnets) == 0 || len(f.groups()) == 0 || len(f.mounts()) == 0 || len(f.registered()) == 0) {
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
			if len(now) != 4 {
				t.Errorf("after resuming %v of 4 trials have an outcome:\n%s", slices.Sorted(maps.Keys(now)), p.stderr())
			}
			for _, o := range now {
				if o.Status != bench.Done {
					t.Errorf("trial %s is %s in %s: %s", o.Trial, o.Status, o.Phase, o.Error)
				}
			}
		})
	}
}

// phasesOf waits for the end of the run's first trial and returns what some of its phases took.
func phasesOf(p *program) map[string]time.Duration {
	p.t.Helper()
	took := map[string]time.Duration{}
	for _, of := range []struct{ phase, next string }{
		{"launch", ": prepare$"}, {"measure", ": collect$"}, {"close", "^1/4 "},
	} {
		p.await(": " + of.phase + "$")
		began := time.Now()
		p.await(of.next)
		took[of.phase] = max(time.Since(began), time.Millisecond)
	}
	return took
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
