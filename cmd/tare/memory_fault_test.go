package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
)

// starve lets the kernel kill the process for want of memory: it is the first to go of a group in which another takes all that there is.
func starve(t *testing.T, pid int, group string) {
	t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte("1000"), 0); err != nil {
		t.Fatal(err)
	}
	limit, used := "memory.max", "memory.current"
	if _, err := os.Stat(filepath.Join(group, "memory.limit_in_bytes")); err == nil {
		limit, used = "memory.limit_in_bytes", "memory.usage_in_bytes"
	}
	text, err := os.ReadFile(filepath.Join(group, used))
	if err != nil {
		t.Skipf("the process is in no group whose memory can be limited: %v", err)
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(group, limit), []byte(strconv.FormatInt(n+32<<20, 10)), 0); err != nil {
		t.Fatal(err)
	}
	eater := exec.CommandContext(t.Context(), "sh", "-c", `read go; x=a; while :; do x=$x$x; done`)
	stdin, err := eater.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := eater.Start(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(eater.Process.Pid)), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := stdin.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err != nil || strings.Contains(string(stat), ") Z ") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the process is not killed")
		}
	}
	_ = eater.Process.Kill()
	_ = eater.Wait() // it was killed, by whomever
}

// TestOutOfMemory has the kernel kill tare in a measurement for want of memory: it can record nothing more, but cleaning leaves nothing, and
// resuming finishes without losing or repeating a trial.
func TestOutOfMemory(t *testing.T) {
	state := realState(t)
	host, err := cgroup.Detect()
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("test-memory-%d", os.Getpid())
	group, unenforced, err := host.Create(name, cgroup.Limits{Memory: bench.GiB})
	if err != nil || len(unenforced) > 0 {
		t.Skipf("no memory can be limited here: %v %v", unenforced, err)
	}
	t.Cleanup(func() {
		if err := group.End(context.Background()); err != nil {
			t.Error(err)
		}
	})
	dirs := group.Dirs()
	memory := dirs["memory"]
	if memory == "" {
		memory = dirs[cgroup.Unified]
	}
	dir := filepath.Join(t.TempDir(), "results")
	// Tare begins in the group, and what it starts is put elsewhere or dies with it.
	p := startCommand(t, state, "sh", "-c", `echo $$ >"$0" && exec "$@"`, filepath.Join(memory, "cgroup.procs"), filepath.Join(bin, "tare"),
		"run", writeSpec(t, "native, runc", cpuScene), "-o", dir, "-v", "--allow-unfair", "--set", "timing.measure=2s")
	run := p.await(runID)[1]
	p.await(`^1/2 `)
	p.await(`: measure$`)
	f := footprintOf(t, state, run)
	starve(t, p.cmd.Process.Pid, memory)
	if status := p.end(); status != -1 {
		t.Fatalf("tare ended with status %d:\n%s", status, p.stderr())
	}
	before := outcomes(t, dir)
	start(t, state, "clean").ends(exitDone)
	f.checkGone(t)
	resumed := start(t, state, "resume", dir)
	resumed.end()
	now := outcomes(t, dir)
	checkKept(t, before, now)
	for _, o := range now {
		if o.Status != bench.Done {
			t.Errorf("%s is %s: %s", o.Trial, o.Status, o.Error)
		}
	}
	if len(before) != 1 || len(now) != 2 {
		t.Errorf("%d outcomes before, %d of 2 after:\n%s", len(before), len(now), resumed.stderr())
	}
	f.checkGone(t)
}

// TestDaemonOutOfMemory has the kernel kill Docker's daemon for want of memory: its trial fails and says what died, the others go on.
func TestDaemonOutOfMemory(t *testing.T) {
	if os.Getenv("TARE_LONG") == "" {
		t.Skip("TestDeadDaemon kills it by a signal, in less time: TARE_LONG=1 runs this one")
	}
	state := realState(t)
	dir := filepath.Join(t.TempDir(), "results")
	p := start(t, state, "run", writeSpec(t, "native, docker", cpuScene), "-o", dir, "-v", "--set", "timing.measure=2s")
	run := p.await(runID)[1]
	p.await(` cpu/docker: measure$`)
	f := footprintOf(t, state, run)
	host, err := cgroup.Detect()
	if err != nil {
		t.Fatal(err)
	}
	daemon := daemonOf(t, run)
	groups, err := host.Of(daemon)
	if err != nil {
		t.Fatal(err)
	}
	memory := groups["memory"]
	if memory == "" {
		memory = groups[cgroup.Unified]
	}
	starve(t, daemon, memory)
	p.ends(exitHost)
	f.checkGone(t)
	all := outcomes(t, dir)
	for _, o := range all {
		switch {
		case o.Scene == "cpu/native" && o.Status != bench.Done:
			t.Errorf("%s is %s: %s", o.Scene, o.Status, o.Error)
		case o.Scene == "cpu/docker" && (o.Status != bench.Failed || !strings.Contains(o.Error, "docker's daemon died (signal: killed)") || o.Hint == ""):
			t.Errorf("%s is %s: %s (hint %q)", o.Scene, o.Status, o.Error, o.Hint)
		}
	}
	if len(all) != 2 {
		t.Errorf("%d of 2 trials have an outcome", len(all))
	}
}

// TestGuestOutOfMemory has a guest's own kernel kill what runs in it for want of memory.
func TestGuestOutOfMemory(t *testing.T) {
	state := realState(t)
	dir := filepath.Join(t.TempDir(), "results")
	p := start(t, state, "run", writeSpec(t, "native, qemu-tcg",
		"  - {name: eat, workload: command, params: {argv: [sh, -c, 'x=a; while :; do x=$x$x; done']}, platforms: [native, qemu-tcg]}\n"), "-o", dir, "-v")
	run := p.await(runID)[1]
	f := footprintOf(t, state, run)
	p.ends(exitHost)
	f.checkGone(t)
	all := outcomes(t, dir)
	for _, o := range all {
		whose := map[string]string{"eat/native": "the host's kernel killed", "eat/qemu-tcg": "its own kernel killed"}[o.Scene]
		if o.Status != bench.Failed || !strings.Contains(o.Error, "subject ran out of memory: "+whose) || !strings.Contains(o.Hint, "shape.memory") {
			t.Errorf("%s is %s: %s (hint %q)", o.Scene, o.Status, o.Error, o.Hint)
		}
	}
	if len(all) != 2 {
		t.Errorf("%d of 2 trials have an outcome", len(all))
	}
}
