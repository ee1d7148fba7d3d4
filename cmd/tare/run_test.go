package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/result"
)

// TestRun takes the whole way on three platforms and leaves nothing behind.
func TestRun(t *testing.T) {
	state := realState(t)
	dir := filepath.Join(t.TempDir(), "results")
	p := start(t, state, "run", writeSpec(t, "native, lxc, docker", cpuScene+startupScene), "-o", dir, "-v", "--seed", "5")
	run := p.await(runID)[1]
	p.await(`: measure$`)
	f := footprintOf(t, state, run)
	if len(f.testnets) == 0 {
		t.Error("the run's network namespace is not where the test looks for it")
	}
	p.ends(exitUndecided) // one block decides nothing
	p.says("6 trials in 1 block, seed 5", "undecided", "more blocks")
	f.checkGone(t)

	all := outcomes(t, dir)
	if len(all) != 6 {
		t.Errorf("%d outcomes of 6 trials", len(all))
	}
	for _, o := range all {
		if o.Status != bench.Done || len(o.Values) == 0 || len(o.Actors) == 0 || o.Window[1] <= o.Window[0] {
			t.Errorf("trial %s: status %s, %d values, %d actors, window %v", o.Trial, o.Status, len(o.Values), len(o.Actors), o.Window)
		}
	}
	r := resultOf(t, dir)
	for _, c := range r.Cases {
		if want := map[bench.SceneKind]int{bench.One: 3}[c.Kind]; len(c.Scheduling) != want {
			t.Errorf("%s has the executions of %d domains, want %d", c.Name, len(c.Scheduling), want)
		}
		for _, d := range c.Scheduling {
			if q := d.Of(result.Executions); d.Why != "" || d.N != 1 || q == nil || q.Median < 0 {
				t.Errorf("the executions of %s on %s are not known: %+v", c.Name, d.Platform, d)
			}
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil || !strings.Contains(string(page), "</html>") {
		t.Errorf("report.html: %d bytes, %v", len(page), err)
	}
	for _, name := range []string{"spec.yaml", "plan.json", "host.json", "run.json"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if !strings.Contains(p.stdout.String(), "page: "+filepath.Join(dir, "report.html")) {
		t.Errorf("the run does not say where the report is:\n%s", p.stdout.String())
	}

	again := start(t, state, "run", writeSpec(t, "native", cpuScene), "-o", dir)
	again.ends(exitInvalid)
	again.says("is not empty", "hint: it holds a run")
	f.checkGone(t)
}
