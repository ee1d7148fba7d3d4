package trace

import (
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/bench"
	"tare/internal/host/clock"
)

// Events of a kernel 6.18: the execution of process 18734, and a fork.
const (
	execEvent = "4c000000030000009e5806000000000001000000010000009e580600000000002800000002000000010000009f290f229b2000002e4900002e49000000000000000000000000000000000000"
	forkEvent = "4c000000030000009d5806000000000001000000010000009d58060000000000280000000100000001000000589c0c229b20000049480000494800002e4900002e4900000000000000000000"
)

func event(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestParseEvents(t *testing.T) {
	one, fork := Exec{PID: 18734, At: 35850663438751}, Fork{Parent: 18505, Child: 18734}
	// A new thread has its process's group: the child's last number is the parent's.
	thread := strings.Replace(forkEvent, "2e4900002e490000", "2e49000049480000", 1)
	for name, c := range map[string]struct {
		text string
		want Events
	}{
		"an execution": {execEvent, Events{Execs: []Exec{one}}}, "a fork": {forkEvent, Events{Forks: []Fork{fork}}},
		"nothing": {"", Events{}}, "a thread": {thread, Events{}},
		"two": {execEvent + execEvent, Events{Execs: []Exec{one, one}}}, "both": {forkEvent + execEvent, Events{[]Exec{one}, []Fork{fork}}},
	} {
		var got Events
		err := got.parse(event(t, c.text))
		if d := cmp.Diff(c.want, got); d != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, d)
		}
	}
	whole := event(t, execEvent)
	for _, n := range []int{1, 15, 17, 40, len(whole) - 1} {
		var got Events
		if err := got.parse(whole[:n]); err == nil {
			t.Errorf("of %d bytes: %v", n, got)
		}
	}
}

func FuzzParseEvents(f *testing.F) {
	f.Add(event(f, execEvent))
	f.Add(event(f, forkEvent+execEvent))
	f.Fuzz(func(t *testing.T, b []byte) {
		var got Events
		err := got.parse(b)
		if n := len(got.Execs) + len(got.Forks); err == nil && n > len(b)/60 {
			t.Errorf("%d events in %d bytes", n, len(b))
		}
	})
}

func TestParseFamily(t *testing.T) {
	for text, want := range map[string]struct {
		parent int
		first  bool
	}{
		"Name:\tinit\nPPid:\t41\nNSpid:\t42\t1\n": {41, true},
		"Name:\tx\nPPid:\t42\nNSpid:\t43\t2\n":    {42, false},
		"Name:\tinit\nPPid:\t0\nNSpid:\t1\n":      {0, true},
		"":                                        {},
		"PPid:\nNSpid:\n":                         {},
		"Name:\tPPid:\t7\nPPid:\t9\nNSpid:\t7\t11\t1\n": {9, true},
	} {
		if parent, first := parseFamily(text); parent != want.parent || first != want.first {
			t.Errorf("%q: %d, %t", text, parent, first)
		}
	}
}

// TestFind listens while a program is started that stays.
func TestFind(t *testing.T) {
	l, err := Listen()
	if errors.Is(err, bench.ErrUnavailable) {
		t.Skipf("this is not the host's own namespace: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	// A copy of its own, so that no other process runs it.
	program := filepath.Join(t.TempDir(), "agent")
	b, err := os.ReadFile(sleep)
	if err == nil {
		err = os.WriteFile(program, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "600")
	from := clock.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
	}()
	// The kernel reports an execution a moment after the parent knows of it.
	var execs []Exec
	var found Found
	for deadline := time.Now().Add(30 * time.Second); found.Agent == 0 && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		more, err := l.Read()
		if err != nil {
			t.Fatal(err)
		}
		execs = append(execs, more.Execs...)
		found = Find(execs, program, from, clock.Now())
	}
	to := clock.Now()
	if found.Agent < from || found.Agent > to || found.Init != 0 {
		t.Errorf("found %+v between %d and %d, in %d executions", found, from, to, len(execs))
	}
	if f := Find(execs, program, to, to+1); f != (Found{}) {
		t.Errorf("found %+v after the launch", f)
	}
	if f := Find(execs, "/no/such/program", from, to); f != (Found{}) {
		t.Errorf("found %+v of a program that is not there", f)
	}
}
