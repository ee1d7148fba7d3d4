package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/bench"
)

const rampScene = "  - {name: density, ramp: {to: 8, step: 4}}\n"

// TestRampEnds ends a ramp of real instances in the middle: by Ctrl-C, which
// closes what is up, and by SIGKILL, after which cleaning does; then it resumes the run.
func TestRampEnds(t *testing.T) {
	state := realState(t)
	dir := filepath.Join(t.TempDir(), "results")
	args := []string{"run", writeSpec(t, "native, lxc", rampScene), "-o", dir, "-v", "--seed", "1"}
	for _, c := range []struct {
		signal os.Signal
		phase  string
	}{{os.Interrupt, "warmup"}, {os.Kill, "measure"}} {
		p := start(t, state, args...)
		run := p.await(runID)[1]
		p.await(`density/lxc: ` + c.phase + `$`)
		f := footprintOf(t, state, run)
		if err := p.cmd.Process.Signal(c.signal); err != nil {
			t.Fatal(err)
		}
		if status := p.end(); status == exitDone {
			t.Fatalf("the run was over before %v:\n%s", c.signal, p.stderr())
		}
		if c.signal == os.Kill {
			if len(f.groups()) == 0 { // their agents end by themselves, sooner or later
				t.Error("a killed ramp of at least four left no control group: the test does not see what it leaves")
			}
			clean := start(t, state, "clean")
			clean.ends(exitDone)
		}
		f.checkGone(t)
		args = []string{"resume", dir, "-v"}
	}
	p := start(t, state, args...)
	run := p.await(runID)[1]
	p.end()
	footprintOf(t, state, run).checkGone(t)
	now := outcomes(t, dir)
	if len(now) != 2 {
		t.Fatalf("%d of 2 trials have an outcome:\n%s", len(now), p.stderr())
	}
	for _, o := range now {
		c := o.Density
		if o.Status != bench.Done || c == nil {
			t.Errorf("trial %s is %s in %s: %s", o.Trial, o.Status, o.Phase, o.Error)
			continue
		}
		if c.Limit != bench.LimitCount || c.Instances != 8 || len(c.Steps) != 2 || len(o.Actors) != 8 {
			t.Errorf("%s: %d instances, %s, %d steps, %d actors", o.Scene, c.Instances, c.Why, len(c.Steps), len(o.Actors))
		}
		for _, name := range bench.DensityMeters {
			few, many := c.Steps[0].Memory[name], c.Steps[1].Memory[name]
			if !strings.HasPrefix(name, "host_") && (few <= 0 || many <= few) {
				t.Errorf("%s: %s of four is %.0f bytes and of eight %.0f", o.Scene, name, few, many)
			}
		}
	}
}
