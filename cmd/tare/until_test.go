package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	resumed.says("of at most 16 trials are finished", ": 1 of 1 need no more")
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

// A run that has not decided is given more blocks, and then more time, without
// beginning anew. Both sides are one platform, so that nothing is ever decided.
func TestResumeWithMore(t *testing.T) {
	state, dir := realState(t), filepath.Join(t.TempDir(), "run")
	spec := filepath.Join(t.TempDir(), "alike.yaml")
	text := "name: alike\nplatforms: [native, 'native[as=b]']\nbaseline: native\nblocks: 3\nmargin: 0.01%\ntiming: {cooldown: 0s}\nscenes: [{name: up, startup: true}]\n"
	if err := os.WriteFile(spec, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, state, "run", spec, "-o", dir).end()
	first := outcomes(t, dir)
	if len(first) != 6 {
		t.Fatalf("%d outcomes", len(first))
	}
	nothing := start(t, state, "resume", dir)
	nothing.end()
	nothing.says("every trial that is needed has an outcome already")

	start(t, state, "resume", dir, "--blocks", "+2").end()
	second := outcomes(t, dir)
	checkKept(t, first, second)
	r := resultOf(t, dir)
	if len(second) != 10 || !r.Complete || r.Until == nil || !slices.Equal(r.Until.Looks, []int{3, 4, 5}) || r.Stops[0].Blocks != 5 {
		t.Errorf("%d outcomes, %+v, %+v", len(second), r.Until, r.Stops)
	}
	if e := r.Cases[0].Rows[1].Effect; e.N != 5 || e.Confidence != 0.98 {
		t.Errorf("%+v", e)
	}
	if !slices.ContainsFunc(r.Warnings, func(w string) bool {
		return strings.HasPrefix(w, "after 6 trials the run was given up to 2 more blocks")
	}) {
		t.Errorf("warnings: %q", r.Warnings)
	}

	start(t, state, "resume", dir, "--budget", "+20s", "--blocks", "+4").end()
	third := outcomes(t, dir)
	checkKept(t, second, third)
	r = resultOf(t, dir)
	if len(third) <= 10 || len(third)%2 != 0 || !r.Complete || r.Stops[0].Blocks != len(third)/2 ||
		!strings.Contains(r.Stops[0].Why, "the budget of ") && r.Stops[0].Blocks != r.Until.Max {
		t.Errorf("%d outcomes, %+v", len(third), r.Stops)
	}
	t.Logf("%s", r.Stops[0].Why)

	for _, args := range [][]string{{"--blocks", "0"}, {"--blocks", "-3"}, {"--budget", "-5m"}} {
		p := start(t, state, append([]string{"resume", dir}, args...)...)
		p.end()
		p.says(strings.Join(args, " "))
	}
}
