package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/result/store"
)

// burn has two programs outside of any run use all the CPU they get, until the test ends.
func burn(t *testing.T) {
	t.Helper()
	for range 2 {
		c := exec.Command("sh", "-c", "while :; do :; done")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = c.Process.Kill() // it never ends by itself
			_ = c.Wait()
		})
	}
}

// TestDisturbed has others work on the host during a run of two blocks. Every launch is repeated
// once, at the end of its block, and no more; both are kept, and the second counts.
func TestDisturbed(t *testing.T) {
	state := realState(t)
	burn(t)
	dir := filepath.Join(t.TempDir(), "results")
	p := start(t, state, "run", writeSpec(t, "native, crun", cpuScene+startupScene), "-o", dir, "-v",
		"--set", "blocks=2", "--set", "disturbed={above: 0.05, repeats: 1}", "--set", "timing.measure=1s")
	run := p.await(runID)[1]
	f := footprintOf(t, state, run)
	p.ends(exitUndecided)
	f.checkGone(t)
	p.says("to be repeated: other work held ", "8/8  ")

	r, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	launches := map[string][]*bench.Outcome{}
	seen := 0
	for o, err := range r.Outcomes() {
		if err != nil {
			t.Fatal(err)
		}
		if o.Repeat != len(launches[o.Trial]) || o.Status != bench.Done {
			t.Errorf("%s: %s, repeat %d after %d launches", o.Trial, o.Status, o.Repeat, len(launches[o.Trial]))
		}
		if again, want := o.Repeat == 1, seen/4%2 == 1; again != want {
			t.Errorf("outcome %d, of %s, is repeat %d: all of a block are repeated at its end", seen, o.Trial, o.Repeat)
		}
		launches[o.Trial] = append(launches[o.Trial], o)
		seen++
		if o.Outside == nil || !strings.Contains(o.Disturbed, "bound 0.05") || (o.Outside.During == nil) != strings.HasPrefix(o.Scene, "startup/") {
			t.Errorf("%s: %q, %+v", o.Trial, o.Disturbed, o.Outside)
		}
	}
	if seen != 16 || len(launches) != 8 {
		t.Errorf("%d outcomes of %d trials, want 16 of 8", seen, len(launches))
	}
	result := resultOf(t, dir)
	if n := result.Trials; n.Repeated != 8 || n.Done != 8 || n.Missing != 0 || !result.Complete {
		t.Errorf("%+v", n)
	}
	if w := strings.Join(result.Warnings, "\n"); !strings.Contains(w, "8 launches were repeated, the last of each trial counts: other work held") || !strings.Contains(w, "8 of 8 launches count although other work held the host") {
		t.Errorf("warnings: %s", w)
	}
	nothing := start(t, state, "resume", dir)
	nothing.end()
	nothing.says("every trial that is needed has an outcome already")
}

// TestRepeatsAfterAKill kills a run while it repeats. The resumed one repeats what is left.
func TestRepeatsAfterAKill(t *testing.T) {
	state := realState(t)
	burn(t)
	dir := filepath.Join(t.TempDir(), "results")
	p := start(t, state, "run", writeSpec(t, "native", cpuScene+startupScene), "-o", dir, "-v",
		"--set", "disturbed={above: 0.05, repeats: 1}", "--set", "timing.measure=1s")
	run := p.await(runID)[1]
	f := footprintOf(t, state, run)
	p.await(`^ *1/2 `) // the first repeat
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.end()
	resumed := start(t, state, "resume", dir)
	resumed.end()
	f.checkGone(t)
	repeats := map[string]int{}
	for id, o := range outcomes(t, dir) {
		repeats[id] = o.Repeat
		if o.Status != bench.Done {
			t.Errorf("%s is %s: %s", id, o.Status, o.Error)
		}
	}
	if len(repeats) != 2 || repeats["b01-t01"] != 1 || repeats["b01-t02"] != 1 {
		t.Errorf("repeats %v", repeats)
	}
	if n := resultOf(t, dir).Trials; n.Repeated != 2 || n.Done != 2 {
		t.Errorf("%+v", n)
	}
}

// TestQuietWait waits for a host that does not calm down, for as long as it was told and no longer,
// and is stopped while it waits.
func TestQuietWait(t *testing.T) {
	state := realState(t)
	burn(t)
	spec := writeSpec(t, "native", startupScene)
	dir := filepath.Join(t.TempDir(), "results")
	p := start(t, state, "run", spec, "-o", dir, "--set", "disturbed.above=0.05", "--quiet-wait", "2s")
	p.await(`^other work on the host holds .* until it is at most 0.05$`)
	p.ends(0) // one platform has no effects
	for _, o := range outcomes(t, dir) {
		if o.Waited < 2 || o.Status != bench.Done {
			t.Errorf("%s is %s, waited %g s", o.Trial, o.Status, o.Waited)
		}
	}
	if w := strings.Join(resultOf(t, dir).Warnings, "\n"); !strings.Contains(w, "in all for other work on the host to end") {
		t.Errorf("warnings: %s", w)
	}

	dir = filepath.Join(t.TempDir(), "stopped")
	p = start(t, state, "run", spec, "-o", dir, "--set", "disturbed.above=0.05", "--quiet-wait", "10m")
	f := footprintOf(t, state, p.await(runID)[1])
	p.await(`^other work on the host holds `)
	if err := p.cmd.Process.Signal(unix.SIGINT); err != nil {
		t.Fatal(err)
	}
	p.ends(exitUndecided)
	p.says("waiting for a quiet host")
	f.checkGone(t)
	if n := len(outcomes(t, dir)); n != 0 {
		t.Errorf("%d outcomes", n)
	}
}
