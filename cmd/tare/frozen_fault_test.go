package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/state/ledger"
)

// The requests of ioctl(2) by which a file system is frozen and thawed (linux/fs.h).
const (
	fiFreeze = 0xC0045877
	fiThaw   = 0xC0045878
)

// disk is a file system of the test's own, on a loop device.
type disk struct {
	t   *testing.T
	at  string
	dir *os.File // at, open; nil once it is unmounted
}

// runsDisk mounts one where the runs of the state directory have theirs: once frozen, whoever
// writes there waits in the kernel, where no signal reaches him. A shell thaws and unmounts it
// should this process die.
func runsDisk(t *testing.T, state string) *disk {
	t.Helper()
	image, at := filepath.Join(t.TempDir(), "image"), filepath.Join(state, "runs")
	if err := errors.Join(os.WriteFile(image, nil, 0o600), os.Truncate(image, 128<<20), os.Mkdir(at, 0o700)); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs.ext4", "-q", "-F", image).CombinedOutput(); err != nil {
		t.Fatalf("no disk that can be frozen: mkfs.ext4: %v: %s", err, out)
	}
	if out, err := exec.Command("mount", "-o", "loop", image, at).CombinedOutput(); err != nil {
		t.Fatalf("no disk that can be frozen: mount: %v: %s", err, out)
	}
	guard := exec.Command("sh", "-c", `cat >/dev/null; fsfreeze --unfreeze "$0"; umount --lazy "$0"`, at)
	guard.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	alive, err := guard.StdinPipe()
	if err == nil {
		err = guard.Start()
	}
	if err != nil {
		t.Error(err, unix.Unmount(at, 0))
		t.FailNow()
	}
	t.Cleanup(func() {
		alive.Close()
		_ = guard.Wait() // there is nothing left for it to do, if all went well
	})
	d := &disk{t: t, at: at}
	if d.dir, err = os.Open(at); err == nil {
		err = os.Remove(filepath.Join(at, "lost+found"))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if d.dir == nil {
			return
		}
		d.thaw()
		// What a failed test has left there keeps it busy.
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := ledger.Clean(ctx, state, true, func(ledger.Removed) {}); err != nil {
			t.Errorf("clean after the test: %v", err)
		}
		d.end()
	})
	return d
}

// end unmounts the disk, on which nothing may be left and which nobody may use.
func (d *disk) end() {
	d.t.Helper()
	if left, err := os.ReadDir(d.at); err != nil || len(left) > 0 {
		d.t.Errorf("left in %s: %v, %v", d.at, left, err)
	}
	d.dir.Close()
	d.dir = nil
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		err := unix.Unmount(d.at, 0)
		if err == nil {
			return
		}
		if !errors.Is(err, unix.EBUSY) || time.Now().After(deadline) {
			d.t.Errorf("unmount %s: %v", d.at, err)
			return
		}
	}
}

func (d *disk) freeze() {
	d.t.Helper()
	if err := unix.IoctlSetInt(int(d.dir.Fd()), fiFreeze, 0); err != nil {
		d.t.Fatal(err)
	}
}

// thaw is not an error if it is not frozen.
func (d *disk) thaw() { _ = unix.IoctlSetInt(int(d.dir.Fd()), fiThaw, 0) }

// TestFrozen freezes the disk under test in a measurement, while a program writes to it that then
// cannot be killed: its trial fails with a hint, and the run ends by itself. Once the disk
// answers, cleaning leaves nothing, and resuming goes on.
func TestFrozen(t *testing.T) {
	if os.Getenv("TARE_LONG") == "" {
		t.Skip("waits for four deadlines, two minutes; whoever calls sync(2) on this host waits with it: TARE_LONG=1 runs it")
	}
	state := realState(t)
	d := runsDisk(t, state)
	dir := filepath.Join(t.TempDir(), "results")
	const writer = `  - {name: write, workload: command, params: {timeout: 5s, argv: [sh, -c, "for i in $(seq 40); do echo $i >>file; sleep 0.05; done"]}}` + "\n"
	p := startWithin(t, 6*time.Minute, state, filepath.Join(bin, "tare"), "run", writeSpec(t, "native", writer), "-o", dir, "-v",
		"--allow-unfair", "--set", "blocks=2")
	run := p.await(runID)[1]
	p.await(`: measure$`)
	f := footprintOf(t, state, run)
	d.freeze()
	p.ends(exitHost)
	p.says("run stopped before trial b02-t02: the disk of ", "does not answer", "hint: its disk does not answer: ")
	before := outcomes(t, dir)
	for _, o := range before {
		for _, why := range []string{"are left: not closed after 30s", "remove directories of trial b01-t01: "} {
			if o.Status != bench.Failed || !strings.Contains(o.Error, why) || o.Hint == "" {
				t.Errorf("%s is %s: %s (hint %q), which does not say %q", o.Trial, o.Status, o.Error, o.Hint, why)
			}
		}
	}
	if len(before) != 1 {
		t.Errorf("%d trials have an outcome, not the first alone", len(before))
	}
	if len(f.registered()) == 0 || len(f.groups()) == 0 {
		t.Errorf("the ledger has %q, and %q are left: the test does not see what hangs", f.registered(), f.groups())
	}

	d.thaw()
	start(t, state, "clean").ends(exitDone)
	d.end()
	f.checkGone(t)
	start(t, state, "resume", dir).end()
	f.checkGone(t)
	now := outcomes(t, dir)
	if checkKept(t, before, now); len(now) != 2 || now["b02-t02"] == nil || now["b02-t02"].Status != bench.Done {
		t.Errorf("after resuming: %v", now)
	}
}

// TestFrozenForAWhile thaws the disk again before the next trial: the run goes on with that.
func TestFrozenForAWhile(t *testing.T) {
	state := realState(t)
	d := runsDisk(t, state)
	dir := filepath.Join(t.TempDir(), "results")
	p := start(t, state, "run", writeSpec(t, "native, runc", cpuScene), "-o", dir, "-v", "--set", "timing.measure=2s")
	run := p.await(runID)[1]
	p.await(`: measure$`)
	f := footprintOf(t, state, run)
	d.freeze()
	p.await(`^1/2 .*failed in close`)
	d.thaw()
	p.ends(exitHost)
	d.end()
	f.checkGone(t)
	failed := 0
	now := outcomes(t, dir)
	for _, o := range now {
		if o.Status != bench.Failed {
			continue
		}
		failed++
		if o.Phase != "close" || !strings.HasPrefix(o.Error, "remove directories of trial "+o.Trial+": ") || !strings.Contains(o.Hint, "fsfreeze --unfreeze") {
			t.Errorf("%s failed in %s: %s (hint %q)", o.Trial, o.Phase, o.Error, o.Hint)
		}
	}
	if len(now) != 2 || failed != 1 {
		t.Errorf("%d of 2 trials have an outcome, %d failed", len(now), failed)
	}
}
