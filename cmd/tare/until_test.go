package main

import (
	"path/filepath"
	"slices"
	"testing"

	"tare/internal/bench"
)

// TestUntilKilled kills a run under a stopping rule before its first look. The
// resumed run ends where the report, which knows the outcomes only, says that
// it does, and measures nothing beyond.
func TestUntilKilled(t *testing.T) {
	state := realState(t)
	dir := filepath.Join(t.TempDir(), "results")
	p := start(t, state, "run", writeSpec(t, "native, lxc", cpuScene), "-o", dir, "-v",
		"--set", "until.interval=60%", "--set", "until.min=3", "--set", "until.max=8")
	run := p.await(runID)[1]
	p.await(`^ *3/≤16 `)
	f := footprintOf(t, state, run)
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.end()
	before := outcomes(t, dir)

	resumed := start(t, state, "resume", dir)
	resumed.end()
	resumed.says("of at most 16 trials are finished", "cpu/lxc: ended after")
	f.checkGone(t)
	now := outcomes(t, dir)
	checkKept(t, before, now)

	result := resultOf(t, dir)
	s := result.Stops[0]
	if !s.Ended || !slices.Contains(result.Until.Looks, s.Blocks) || len(now) != 2*s.Blocks || !result.Complete || result.Trials.NotNeeded != 16-len(now) {
		t.Errorf("%d outcomes, %+v, %+v", len(now), result.Trials, s)
	}
	for _, o := range now {
		if o.Status != bench.Done {
			t.Errorf("trial %s is %s: %s", o.Trial, o.Status, o.Error)
		}
	}
	t.Logf("%s", s.Why)

	nothing := start(t, state, "resume", dir)
	nothing.end()
	nothing.says("every trial that is needed has an outcome already")
}
