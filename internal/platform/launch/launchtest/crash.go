package launchtest

import (
	"bufio"
	"context"
	"fmt"
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

// stateVar tells a test binary that it is the one to be killed.
const stateVar = "TARE_CRASH_STATE"

// Moment is when a run is killed: so long after it has entered a step.
type Moment struct {
	Step  string // "open", "start", "greeted", "close", "closed"
	After time.Duration
}

// Crash kills a run of the platform at each moment and expects cleaning by the
// ledger to leave nothing on the host, and the next run to find all in order.
// It runs the calling test again, in a process to be killed.
func Crash(t *testing.T, name string, platform func(state string) bench.Platform, moments []Moment) {
	if state := os.Getenv(stateVar); state != "" {
		doomed(t, name, platform(state), state)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("namespaces and cgroups need root")
	}
	state, err := os.MkdirTemp("/var/tmp", name)
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(state)
	agent := echo(t)
	for _, m := range moments {
		t.Run(fmt.Sprintf("%s+%v", m.Step, m.After), func(t *testing.T) {
			run := kill(t, strings.Split(t.Name(), "/")[0], state, agent, m)
			err := ledger.Clean(context.Background(), state, false, func(r ledger.Removed) {
				if r.Err != nil {
					t.Errorf("clean %s %s: %v", r.Kind, r.Name, r.Err)
				}
			})
			if err != nil {
				t.Error(err)
			}
			// A process that waits for its first word ends by itself when the run is dead, which takes a moment.
			left := Remains(t, run)
			for end := time.Now().Add(5 * time.Second); len(left) != 0 && time.Now().Before(end); left = Remains(t, run) {
				time.Sleep(20 * time.Millisecond)
			}
			if len(left) != 0 {
				t.Errorf("left on the host: %q", left)
			}
			if _, err := os.Stat(filepath.Join(bench.RuntimeDir, run)); err == nil {
				t.Errorf("the runtime directory of %s is left", run)
			}
		})
	}
}

// CrashBoxes is Crash of a platform whose containers start within some times
// step, at the moments that matter to it; skipped where it cannot run.
func CrashBoxes(t *testing.T, platform func() bench.Platform, step time.Duration) {
	p := platform()
	if _, err := p.Check(t.Context()); err != nil {
		t.Skip(err)
	}
	Crash(t, p.Name()+"crash", func(string) bench.Platform { return platform() }, []Moment{
		{Step: "start"}, {Step: "start", After: step}, {Step: "start", After: 2 * step},
		{Step: "greeted"}, {Step: "close"}, {Step: "close", After: 10 * time.Millisecond},
	})
}

// kill runs the test to be killed, kills it at the moment and returns its run's id.
func kill(t *testing.T, test, state, agent string, m Moment) (run string) {
	t.Helper()
	steps, child, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer steps.Close()
	cmd := exec.Command(os.Args[0], "-test.run=^"+test+"$")
	cmd.Env = append(os.Environ(), stateVar+"="+state, echoEnv+"="+agent)
	cmd.ExtraFiles = []*os.File{child}
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	child.Close()
	reached := false
	for lines := bufio.NewScanner(steps); lines.Scan(); {
		var step string
		if _, err := fmt.Sscan(lines.Text(), &step, &run); err == nil && step == m.Step {
			reached = true
			break
		}
	}
	time.Sleep(m.After)
	cmd.Process.Kill()
	cmd.Wait()
	if !reached {
		t.Fatalf("it ended before %s:\n%s", m.Step, said.String())
	}
	return run
}

// doomed runs one instance and says each step on file descriptor 3.
func doomed(t *testing.T, name string, p bench.Platform, state string) {
	steps := os.NewFile(3, "steps")
	unix.CloseOnExec(3)
	env := in(t, state, name)
	step := func(name string) { fmt.Fprintln(steps, name, env.Run) }
	step("open")
	e, err := p.Open(t.Context(), env.Env)
	if err != nil {
		t.Fatal(err)
	}
	l := env.Launch(t, p, "a", nil)
	step("start")
	i, err := e.Start(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	Greet(t, i)
	step("greeted")
	time.Sleep(100 * time.Millisecond)
	step("close")
	if err := i.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	step("closed")
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Minute)
}
