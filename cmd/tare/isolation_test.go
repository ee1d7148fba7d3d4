package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
	"tare/internal/result"
)

const (
	bombedScene = `  - name: bombed
    workload: sysbench-cpu
    beside: {workload: bomb, params: {kind: fork}, placement: shared, containment: {pids: 200}}
    relative: {to: cpu, row: CPU, column: fork bomb}
`
	// Its subject is not through when the time of the containment is over.
	overdueScene = `  - name: endless
    workload: command
    params: {argv: [sleep, 100], metrics: [{name: n, better: higher, regex: '(\d+)'}]}
    beside: {workload: bomb, params: {kind: fork}, placement: shared, containment: {pids: 200, time: 2s}}
`
)

// A subject beside a bomb is measured, one that is not through when the time of
// the containment is over is overdue, which fails no run and decides nothing, and of the
// containments nothing is left.
func TestBesideABomb(t *testing.T) {
	state := realState(t)
	dir := filepath.Join(t.TempDir(), "results")
	p := start(t, state, "run", writeSpec(t, "native", cpuScene+bombedScene+overdueScene), "-o", dir, "-v")
	f := footprintOf(t, state, p.await(runID)[1])
	p.ends(exitUndecided) // one block decides nothing
	f.checkGone(t)
	seen := map[string]*bench.Outcome{}
	for _, o := range outcomes(t, dir) {
		seen[o.Scene] = o
	}
	bombed, endless := seen["bombed/native"], seen["endless/native"]
	if bombed.Status != bench.Done || bombed.Watch == nil || len(bombed.Watch.Starts) == 0 || bombed.Watch.Ended != "" || bombed.Watch.Overdue {
		t.Errorf("beside the bomb: %s: %s, watch %+v", bombed.Status, bombed.Error, bombed.Watch)
	}
	if endless.Status != bench.Overdue || endless.Watch == nil || !endless.Watch.Overdue ||
		!strings.Contains(endless.Error, "not finished when the neighbour's time limit expired") {
		t.Errorf("without an end: %s in %s: %s, watch %+v", endless.Status, endless.Phase, endless.Error, endless.Watch)
	}
	r := resultOf(t, dir)
	if m := r.Relative; m == nil || len(m.Rows) != 3 || m.Rows[0].Cells[0].N != 1 {
		t.Errorf("table %+v", m)
	}
	if r.Trials != (result.Counts{Planned: 3, Asked: 3, Done: 2, Overdue: 1}) || len(r.Watches) != 2 {
		t.Errorf("%+v, %d watches", r.Trials, len(r.Watches))
	}
}

// The bombs of a run that is killed are killed by its watchdog, before anybody cleans.
func TestKilledBesideABomb(t *testing.T) {
	state := realState(t)
	p := start(t, state, "run", writeSpec(t, "native", bombedAlone), "-v", "-o", filepath.Join(t.TempDir(), "results"))
	f := footprintOf(t, state, p.await(runID)[1])
	p.await(`: measure$`)
	before := 0
	for deadline := time.Now().Add(15 * time.Second); before < 50 && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		before = inside(t, f.run)
	}
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.end()
	// What is left is the subject's, which means no harm.
	for deadline := time.Now().Add(20 * time.Second); inside(t, f.run) > 10; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d processes are left of the run", inside(t, f.run), before)
		}
	}
	if before < 50 {
		t.Errorf("%d processes are no fork bomb: the test shows nothing", before)
	}
	start(t, state, "clean").ends(exitDone)
	f.checkGone(t)
}

// inside is how many processes are in the run's control groups.
func inside(t *testing.T, run string) int {
	t.Helper()
	host, err := cgroup.Detect()
	if err != nil {
		t.Fatal(err)
	}
	pids, err := host.Group(run).Procs()
	if err != nil {
		t.Fatal(err)
	}
	return len(pids)
}

// bombedAlone is long enough to be killed in.
const bombedAlone = `  - name: bombed
    workload: sysbench-cpu
    timing: {measure: 20s}
    beside: {workload: bomb, params: {kind: fork}, placement: shared, containment: {pids: 200}}
`
