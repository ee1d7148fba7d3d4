package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// suspension is how long everything stands still: TARE_LONG stands still for half a minute.
func suspension() time.Duration {
	if os.Getenv("TARE_LONG") != "" {
		return 30 * time.Second
	}
	return 4 * time.Second
}

// TestSuspended stops every process of a run in a measurement, Tare's own among them, and lets them go on, as a laptop that is shut or a
// machine that is moved does.
func TestSuspended(t *testing.T) {
	state := realState(t)
	dir := filepath.Join(t.TempDir(), "results")
	p := start(t, state, "run", writeSpec(t, "native, runc, docker", cpuScene), "-o", dir, "-v", "--set", "timing.measure=2s")
	run := p.await(runID)[1]
	stopped := p.await(`^(\S+) cpu/(docker|runc): measure$`)[1]
	time.Sleep(500 * time.Millisecond)
	f := footprintOf(t, state, run)
	pids := everyProcess(t, f, p.cmd.Process.Pid)
	t.Logf("%d processes stand still for %v in trial %s", len(pids), suspension(), stopped)
	for _, signal := range []unix.Signal{unix.SIGSTOP, unix.SIGCONT} {
		for _, pid := range pids {
			_ = unix.Kill(pid, signal) // one that has ended does not matter
		}
		if signal == unix.SIGSTOP {
			time.Sleep(suspension())
		}
	}
	p.ends(exitHost)
	f.checkGone(t)
	all := outcomes(t, dir)
	for _, o := range all {
		switch {
		case o.Trial != stopped && o.Status != bench.Done:
			t.Errorf("%s of %s is %s: %s", o.Trial, o.Scene, o.Status, o.Error)
		case o.Trial == stopped && (o.Status != bench.Failed || !strings.Contains(o.Error, "the run stood still for ") ||
			!strings.Contains(o.Hint, "keep the host awake") || len(o.Values) > 0):
			t.Errorf("%s, in which everything stood still, is %s with %d values: %s (hint %q)", o.Trial, o.Status, len(o.Values), o.Error, o.Hint)
		}
	}
	if len(all) != 3 {
		t.Errorf("%d of 3 trials have an outcome", len(all))
	}
}

// everyProcess lists those of a run, tare first.
func everyProcess(t *testing.T, f *footprint, tare int) []int {
	t.Helper()
	pids := []int{tare}
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == tare {
			continue
		}
		environ, _ := os.ReadFile(dir + "/environ")
		groups, _ := os.ReadFile(dir + "/cgroup")
		netns, _ := os.Readlink(dir + "/ns/net")
		if strings.Contains(string(environ), bench.ProcessMark+"="+f.run) || strings.Contains(string(groups), f.run) || slices.Contains(f.testnets, netns) {
			pids = append(pids, pid)
		}
	}
	return pids
}
