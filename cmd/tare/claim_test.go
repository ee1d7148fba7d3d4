package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// TestOneRunAtATime: a second run on the host is refused, whatever its state
// directory, or waits; losing the terminal ends the first as Ctrl-C does; and a run
// that was killed is resumed without tare clean.
func TestOneRunAtATime(t *testing.T) {
	state := realState(t)
	dir := filepath.Join(t.TempDir(), "results")
	spec := writeSpec(t, "native", cpuScene)
	p := start(t, state, "run", spec, "-o", dir, "-v", "--set", "timing.measure=3s", "--set", "blocks=3")
	run := p.await(runID)[1]
	p.await(`: measure$`)
	f := footprintOf(t, state, run)

	other := realState(t)
	second := filepath.Join(t.TempDir(), "second")
	q := start(t, other, "run", spec, "-o", second)
	q.ends(exitHost)
	pid := strconv.Itoa(p.cmd.Process.Pid)
	q.says("another run is measuring on this host (run "+run+" of process "+pid+", state directory "+state+", since 20",
		"hint: wait until it ends, as --wait does, or stop it: kill -INT "+pid)
	q = start(t, other, "clean", "--all")
	q.ends(exitHost)
	q.says("what is kept for the next run stays: a run is measuring on this host (run "+run, "hint: try again when it has ended")
	q = start(t, other, "run", spec, "-o", second, "--wait")
	q.await(`^waiting for another run on this host to end \(run ` + run)

	if err := p.cmd.Process.Signal(unix.SIGHUP); err != nil {
		t.Fatal(err)
	}
	p.ends(exitUndecided)
	p.says("hint: tare resume " + dir)
	f.checkGone(t)
	q.ends(exitDone)
	if n := len(outcomes(t, second)); n != 1 {
		t.Errorf("the run that waited has %d outcomes", n)
	}

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

// TestOthersCannotReachTheRun: what lies in the scratch space of an instance, such as a program that is setuid
// root, can be run by no other user of the host, nor can anything else of the run be looked at.
func TestOthersCannotReachTheRun(t *testing.T) {
	state := realState(t)
	if err := os.Chmod(state, 0o755); err != nil { // as an earlier Tare left it
		t.Fatal(err)
	}
	spec := writeSpec(t, "native", cpuScene)
	p := start(t, state, "run", spec, "-o", filepath.Join(t.TempDir(), "results"), "-v", "--set", "timing.measure=3s")
	run := p.await(runID)[1]
	p.await(`: measure$`)
	scratch, err := filepath.Glob(filepath.Join(state, "runs", run, "*", "scratch"))
	if err != nil || len(scratch) != 1 {
		t.Fatalf("scratch spaces %q, %v", scratch, err)
	}
	program := filepath.Join(scratch[0], "x")
	if out, err := exec.Command("cp", "/bin/sh", program).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.Chmod(program, 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	for _, argv := range [][]string{{program, "-p", "-c", "id -u"}, {"/bin/ls", state}, {"/bin/ls", filepath.Join(bench.RuntimeDir, run)}} {
		cmd := exec.Command("/bin/sh", append([]string{"-c", `exec "$@"`, "sh"}, argv...)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "denied") {
			t.Errorf("another user runs %q: %v: %s", argv, err, out)
		}
	}
	p.ends(exitDone)
	p.says("closed " + state + " to other users: it was drwxr-xr-x")
}
