package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/result/store/storetest"
)

// TestInterrupted presses Ctrl-C in a measurement: everything is closed without
// tare clean, the exit status says so, and the run can be resumed. A second signal right after the
// first, as timeout(1) sends it to child and group, changes nothing.
func TestInterrupted(t *testing.T) {
	state := realState(t)
	dir := filepath.Join(t.TempDir(), "results")
	p := start(t, state, "run", writeSpec(t, "native, lxc, docker", cpuScene), "-o", dir, "-v", "--set", "timing.measure=2s")
	run := p.await(runID)[1]
	p.await(`^1/3 `)
	p.await(`: measure$`)
	f := footprintOf(t, state, run)
	for range 2 {
		if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	p.ends(exitUndecided)
	p.says("again to stop at once; then tare clean", "interrupt", "hint: tare resume "+dir)
	f.checkGone(t)
	before := outcomes(t, dir)
	if !strings.Contains(p.stdout.String(), "page: ") {
		t.Errorf("there is no report of what was measured:\n%s", p.stdout.String())
	}

	p = start(t, state, "resume", dir, "--max-time", "1m")
	p.ends(exitUndecided)
	p.says("1 of 3 trials are finished")
	f.checkGone(t)
	now := outcomes(t, dir)
	for id, o := range before {
		if o.Status != bench.Done {
			delete(before, id)
		}
	}
	checkKept(t, before, now)
	for _, o := range now {
		if o.Status != bench.Done {
			t.Errorf("trial %s is %s: %s", o.Trial, o.Status, o.Error)
		}
	}
	if len(before) != 1 || len(now) != 3 {
		t.Errorf("%d trials finished before, %d after", len(before), len(now))
	}
}

// TestInterruptedEarly presses Ctrl-C while Docker's daemon is starting.
func TestInterruptedEarly(t *testing.T) {
	state := realState(t)
	dir := filepath.Join(t.TempDir(), "results")
	p := start(t, state, "run", writeSpec(t, "docker", startupScene), "-o", dir)
	run := p.await(runID)[1]
	p.await(`^opening docker`)
	f := footprintOf(t, state, run)
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	p.ends(exitUndecided)
	p.says("stopped before the first trial: interrupt", "hint: tare resume "+dir)
	f.checkGone(t)
	if n := len(outcomes(t, dir)); n != 0 {
		t.Errorf("%d trials have an outcome", n)
	}
}

// TestResumeElsewhere resumes a run of another image: trials that cannot be
// compared are not mixed.
func TestResumeElsewhere(t *testing.T) {
	state := realState(t)
	dir := filepath.Join(t.TempDir(), "results")
	if err := storetest.Synthetic(t, dir, storetest.Options{Blocks: 3, Missing: 4}).Close(); err != nil {
		t.Fatal(err)
	}
	p := start(t, state, "resume", dir)
	p.ends(exitInvalid)
	p.says("does not know of run synthetic-0", "hint: measure its experiment anew: tare run --from "+dir)
	if err := remember(state, dir); err != nil {
		t.Fatal(err)
	}
	p = start(t, state, "resume", dir, "--allow-mixed")
	p.ends(exitInvalid)
	p.says("the run used image", "must not be mixed")
	(&footprint{state: state, run: "no-such-run"}).checkGone(t)
}

// TestMixed resumes a run that began on another processor: not unawares, and if
// its user wants it the trials and every report say so.
func TestMixed(t *testing.T) {
	state := realState(t)
	dir := filepath.Join(t.TempDir(), "results")
	p := start(t, state, "run", writeSpec(t, "native", cpuScene), "-o", dir, "--set", "blocks=3", "--set", "timing.measure=2s")
	run := p.await(runID)[1]
	p.await(`^1/3 `)
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	p.ends(exitUndecided)
	before := outcomes(t, dir)

	edited := filepath.Join(dir, "host.json")
	text, err := os.ReadFile(edited)
	if err != nil {
		t.Fatal(err)
	}
	other := regexp.MustCompile(`"cpu_model": ".*?"`).ReplaceAll(text, []byte(`"cpu_model": "Z80"`))
	if err := os.WriteFile(edited, other, 0o644); err != nil {
		t.Fatal(err)
	}
	p = start(t, state, "resume", dir)
	p.ends(exitInvalid)
	p.says("the folder of run " + run + " is not as it was when the run began")
	if err := remember(state, dir); err != nil {
		t.Fatal(err)
	}
	p = start(t, state, "resume", dir)
	p.ends(exitInvalid)
	p.says("not all is as it was when the run began: processor: Z80 when the run began, ", "mix them with --allow-mixed")
	checkKept(t, before, outcomes(t, dir))
	p = start(t, state, "resume", dir, "--allow-mixed")
	p.end()
	p.says("! trials are mixed: processor: Z80 when the run began, ")
	mixed := 0
	now := outcomes(t, dir)
	for id, o := range now {
		_, old := before[id]
		if len(o.Mixed) > 0 {
			mixed++
		}
		if old && before[id].Status == bench.Done && len(o.Mixed) > 0 || len(o.Mixed) > 0 && !strings.HasPrefix(o.Mixed[0], "processor: Z80") {
			t.Errorf("%s is mixed: %q", id, o.Mixed)
		}
	}
	if len(now) != 3 || mixed == 0 {
		t.Errorf("%d of %d outcomes are mixed", mixed, len(now))
	}
	if want := "trials are mixed: " + strconv.Itoa(mixed) + " of 3"; !strings.Contains(strings.Join(strings.Fields(p.stdout.String()), " "), want) {
		t.Errorf("the report does not say %q:\n%s", want, p.stdout.String())
	}
	footprintOf(t, state, run).checkGone(t)
}

// TestRunFrom measures the experiment of a run from elsewhere anew: with
// programs of its own only if its user trusts it, and then it is a run of this host.
func TestRunFrom(t *testing.T) {
	state := realState(t)
	theirs := filepath.Join(t.TempDir(), "theirs")
	p := start(t, state, "run", writeSpec(t, "native", "  - {name: say, workload: command, params: {argv: [echo, hello]}}\n"), "-o", theirs, "--set", "blocks=2")
	run := p.await(runID)[1]
	p.end()
	if err := os.Remove(filepath.Join(state, "begun", run)); err != nil { // as on another host
		t.Fatal(err)
	}
	ours := filepath.Join(t.TempDir(), "ours")
	p = start(t, state, "run", "--from", theirs, "-o", ours)
	p.ends(exitInvalid)
	p.says("the experiment of "+theirs+" did not begin on this host, and would run [\"echo\" \"hello\"]", "add --trust")
	if _, err := os.Stat(ours); err == nil {
		t.Error("it ran")
	}
	p = start(t, state, "run", "--from", theirs, "-o", ours, "--trust")
	again := p.await(runID)[1]
	p.end()
	if n := len(outcomes(t, ours)); n != 2 || again == run {
		t.Errorf("run %s has %d outcomes of 2", again, n)
	}
	p = start(t, state, "resume", ours)
	p.end()
	p.says("every trial that is needed has an outcome already")
	start(t, state, "resume", theirs).ends(exitInvalid)
	footprintOf(t, state, again).checkGone(t)
}

// TestMaxTime stops a run by its own limit, which is no different.
func TestMaxTime(t *testing.T) {
	state := realState(t)
	dir := filepath.Join(t.TempDir(), "results")
	p := start(t, state, "run", writeSpec(t, "native", cpuScene), "-o", dir, "--set", "timing.measure=10s", "--max-time", "1s")
	run := p.await(runID)[1]
	p.ends(exitUndecided)
	p.says("the time limit is over", "hint: tare resume "+dir)
	footprintOf(t, state, run).checkGone(t)
}

// TestDeadDaemon kills Docker's daemon in a measurement: Docker's trials fail
// and say why, the others' go on.
func TestDeadDaemon(t *testing.T) {
	state := realState(t)
	dir := filepath.Join(t.TempDir(), "results")
	p := start(t, state, "run", writeSpec(t, "native, docker", cpuScene), "-o", dir, "-v", "--set", "blocks=3", "--set", "timing.measure=1s")
	run := p.await(runID)[1]
	p.await(` cpu/docker: measure$`)
	f := footprintOf(t, state, run)
	if err := unix.Kill(daemonOf(t, run), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.ends(exitHost)
	p.says("docker's daemon died (signal: killed)", "trials failed")
	f.checkGone(t)
	failed := 0
	all := outcomes(t, dir)
	for _, o := range all {
		switch onDocker := strings.HasSuffix(o.Scene, "/docker"); {
		case !onDocker && o.Status != bench.Done:
			t.Errorf("%s of %s is %s: %s", o.Trial, o.Scene, o.Status, o.Error)
		case onDocker && o.Status == bench.Failed:
			failed++
			if !strings.Contains(o.Error, "docker's daemon died") || o.Hint == "" {
				t.Errorf("%s failed with %q, hint %q", o.Trial, o.Error, o.Hint)
			}
		}
	}
	if len(all) != 6 || failed < 2 {
		t.Errorf("%d of 6 outcomes, %d failed", len(all), failed)
	}
	if !strings.Contains(p.stdout.String(), " of 6 trials failed, the first with: ") {
		t.Errorf("the run does not say that trials failed:\n%s", p.stdout.String())
	}
	whole := start(t, state, "report", dir, "--all")
	whole.ends(exitHost)
	if !strings.Contains(whole.stdout.String(), "docker's daemon died") {
		t.Errorf("the report does not say why the trials failed:\n%s", whole.stdout.String())
	}
}

// daemonOf finds the run's dockerd.
func daemonOf(t *testing.T, run string) int {
	t.Helper()
	pidFile := filepath.Join(bench.RuntimeDir, run, "docker", "docker.pid")
	text, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// TestFullDisk fills the disk of the results after the first trial: the run
// ends and says so, what was stored stays, and with space it goes on.
func TestFullDisk(t *testing.T) {
	state := realState(t)
	disk := t.TempDir()
	if err := unix.Mount("tare-test", disk, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("a small disk cannot be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	dir := filepath.Join(disk, "results")
	p := start(t, state, "run", writeSpec(t, "native", cpuScene), "-o", dir, "-v", "--set", "blocks=3", "--set", "timing.measure=1s")
	run := p.await(runID)[1]
	p.await(`^1/3 `)
	p.await(`: launch$`)
	ballast := filepath.Join(disk, "ballast")
	if err := os.WriteFile(ballast, bytes.Repeat([]byte{1}, 2<<20), 0o600); err == nil {
		t.Fatal("the disk did not fill")
	}
	p.ends(exitHost)
	p.says("no space left on device", "hint: the disk is full", "tare resume")
	footprintOf(t, state, run).checkGone(t)
	before := outcomes(t, dir)
	if len(before) != 1 {
		t.Errorf("%d outcomes are stored, not the first alone", len(before))
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	start(t, state, "resume", dir).ends(exitDone)
	now := outcomes(t, dir)
	checkKept(t, before, now)
	if len(now) != 3 {
		t.Errorf("%d of 3 trials have an outcome", len(now))
	}

	// Where not even the beginning fits there is no run at all.
	if err := os.WriteFile(ballast, bytes.Repeat([]byte{1}, 2<<20), 0o600); err == nil {
		t.Fatal("the disk did not fill")
	}
	none := filepath.Join(disk, "none")
	p = start(t, state, "run", writeSpec(t, "native", cpuScene), "-o", none)
	p.ends(exitHost)
	p.says("create run: ", "no space left on device", "hint: the disk is full")
	if _, err := os.Stat(none); err == nil {
		t.Error("half a run was left behind")
	}
}

// TestMissingProgram hides a program of a platform: it is left out with the
// reason where all were asked for, and refused where the command line names it.
func TestMissingProgram(t *testing.T) {
	state := realState(t)
	hide := func(name string, args ...string) *program {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatalf("%s is not installed: ./test installs it", name)
		}
		script := `mount --bind /dev/null "$1" && shift && exec "$@"`
		return startCommand(t, state, "unshare", append([]string{"--mount", "sh", "-c", script, "sh", path, filepath.Join(bin, "tare")}, args...)...)
	}
	spec := writeSpec(t, "all-real", startupScene)
	p := hide("lxc-execute", "plan", spec, "--set", "baseline=native")
	p.ends(exitDone)
	if out := p.stdout.String(); !strings.Contains(out, "lxc: ") || !strings.Contains(out, "lxc-execute") || !strings.Contains(out, "apt-get install lxc") {
		t.Errorf("the plan does not say that lxc is left out, and why:\n%s", out)
	}
	p = hide("dockerd", "run", spec, "--platforms", "native,docker", "--set", "baseline=native", "-o", filepath.Join(t.TempDir(), "results"))
	p.ends(exitHost)
	p.says("platform docker cannot run here: ", "dockerd", "hint: install Docker Engine")
	p = hide("crun", "run", spec, "--platforms", "native,docker[net=bridge,runtime=crun]", "--set", "baseline=native", "-o", filepath.Join(t.TempDir(), "results"))
	p.ends(exitHost)
	p.says("platform docker[runtime=crun] cannot run here: crun is not installed", "hint: install crun, or use docker[runtime=runc]")
	(&footprint{state: state, run: "no-such-run"}).checkGone(t)
}
