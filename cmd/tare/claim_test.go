package main

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOneRunAtATime: a second run on the host is refused; losing the terminal
// ends the first as Ctrl-C does; and a run that was killed is resumed without
// tare clean.
func TestOneRunAtATime(t *testing.T) {
	state := realState(t)
	dir := filepath.Join(t.TempDir(), "results")
	spec := writeSpec(t, "native", cpuScene)
	p := start(t, state, "run", spec, "-o", dir, "-v", "--set", "timing.measure=3s", "--set", "blocks=3")
	run := p.await(runID)[1]
	p.await(`: measure$`)
	f := footprintOf(t, state, run)

	second := filepath.Join(t.TempDir(), "second")
	q := start(t, state, "run", spec, "-o", second)
	q.ends(exitHost)
	q.says("another run is measuring", "hint: ")

	if err := p.cmd.Process.Signal(unix.SIGHUP); err != nil {
		t.Fatal(err)
	}
	p.ends(exitUndecided)
	p.says("hint: tare resume " + dir)
	f.checkGone(t)

	p = start(t, state, "resume", dir, "-v")
	p.await(`: measure$`)
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.end()
	p = start(t, state, "resume", dir)
	p.end()
	p.says("removed what run " + run + " had left")
	f.checkGone(t)
	if now := outcomes(t, dir); len(now) != 3 {
		t.Errorf("%d of 3 trials have an outcome", len(now))
	}
}
