package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/verify/systrace"
)

// blindVDSO takes from a program that is about to begin the page by which it reads clocks without a system call.
func blindVDSO(pid int) error {
	var regs unix.PtraceRegs
	if err := unix.PtraceGetRegs(pid, &regs); err != nil {
		return err
	}
	word := func(at uint64) (uint64, error) {
		var b [8]byte
		_, err := unix.PtracePeekData(pid, uintptr(at), b[:])
		return binary.NativeEndian.Uint64(b[:]), err
	}
	at := regs.Rsp + 8 // after the number of arguments
	for range 2 {      // the arguments, the environment
		for {
			v, err := word(at)
			if err != nil {
				return err
			}
			at += 8
			if v == 0 {
				break
			}
		}
	}
	const sysinfo, ignore = 33, 1 // AT_SYSINFO_EHDR, AT_IGNORE
	for ; ; at += 16 {
		switch v, err := word(at); {
		case err != nil:
			return err
		case v == 0:
			return fmt.Errorf("no vDSO among the auxiliary values")
		case v == sysinfo:
			_, err := unix.PtracePokeData(pid, uintptr(at), binary.NativeEndian.AppendUint64(nil, ignore))
			return err
		}
	}
}

// TestClockStepped lets the host's clock, as tare sees it, go back an hour in a measurement and ahead two in the next: every trial is done, its
// times are as long as they were, and the run is resumed and reported like any other. The clock of other programs stays: it is this one that
// measures, by the clock that nobody sets.
func TestClockStepped(t *testing.T) {
	state := realState(t)
	dir := filepath.Join(t.TempDir(), "results")
	words, err := os.Create(filepath.Join(t.TempDir(), "words"))
	if err != nil {
		t.Fatal(err)
	}
	defer words.Close()
	cmd := exec.Command(filepath.Join(bin, "tare"), "run", writeSpec(t, "native, runc", cpuScene), "-o", dir, "-v", "--allow-unfair", "--set", "blocks=2")
	cmd.Env = append(os.Environ(), "TARE_STATE="+state)
	cmd.Stdout, cmd.Stderr = words, words
	var step atomic.Int64 // seconds
	steps := []int64{-3600, 7200}
	measuring := 0
	status, err := systrace.Run(cmd, systrace.Eyes{
		Born: blindVDSO,
		Entered: func(thread int, c systrace.Call) error {
			if c.Number != unix.SYS_WRITE || c.Args[2] > 200 {
				return nil
			}
			text := make([]byte, c.Args[2])
			if _, err := unix.PtracePeekData(thread, uintptr(c.Args[1]), text); err != nil {
				return err
			}
			if strings.HasSuffix(string(text), ": measure\n") {
				if measuring < len(steps) {
					step.Add(steps[measuring])
				}
				measuring++
			}
			return nil
		},
		Left: func(thread int, c systrace.Call, result int64) error {
			if c.Number != unix.SYS_CLOCK_GETTIME || int32(c.Args[0]) != unix.CLOCK_REALTIME || result != 0 {
				return nil
			}
			var b [8]byte
			if _, err := unix.PtracePeekData(thread, uintptr(c.Args[1]), b[:]); err != nil {
				return err
			}
			now := binary.NativeEndian.Uint64(b[:]) + uint64(step.Load())
			_, err := unix.PtracePokeData(thread, uintptr(c.Args[1]), binary.NativeEndian.AppendUint64(nil, now))
			return err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(words.Name())
	if err != nil {
		t.Fatal(err)
	}
	if code := status.ExitStatus(); code != exitUndecided && code != exitDone || measuring != 4 { // two blocks may decide
		t.Fatalf("status %d after %d measurements:\n%s", code, measuring, text)
	}
	var ahead, behind bool
	for _, o := range outcomes(t, dir) {
		if o.Status != bench.Done {
			t.Errorf("%s is %s: %s (hint %q)", o.Trial, o.Status, o.Error, o.Hint)
		}
		began, err := time.Parse(time.RFC3339Nano, o.Started)
		if err != nil {
			t.Fatal(err)
		}
		ahead, behind = ahead || time.Until(began) > 30*time.Minute, behind || time.Since(began) > 30*time.Minute
		for _, p := range o.Phases {
			if took := time.Duration(p.End - p.Start); took < 0 || took > time.Minute {
				t.Errorf("%s: %s took %v", o.Trial, p.Name, took)
			}
		}
	}
	if !ahead || !behind {
		t.Errorf("no trial began by another clock (ahead %v, behind %v): the test shows nothing", ahead, behind)
	}
	p := start(t, state, "resume", dir)
	p.ends(exitUndecided)
	p.says("every trial that is needed has an outcome already")
	(&footprint{state: state, run: "no-such-run"}).checkGone(t)
}
