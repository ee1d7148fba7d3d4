package platformtest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/state/ledger"
)

// abandonEnv tells the test binary, started again by testKilledRun, to make a
// run in that state directory and wait to be killed.
const abandonEnv = "TARE_PLATFORMTEST_ABANDON"

// testKilledRun kills a run with an instance up, as SIGKILL would kill tare, and
// cleans by the ledger. It comes before the suite's own run, for a platform may
// let only one run at a time have its data.
func testKilledRun(t *testing.T, p bench.Platform, o Options) {
	state := stateDir(t)
	up, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer up.Close()
	test, _, _ := strings.Cut(t.Name(), "/")
	cmd := exec.Command(os.Args[0], "-test.run=^"+test+"$", "-test.v")
	cmd.Env = append(os.Environ(), abandonEnv+"="+state, agentEnv+"="+Agent(t))
	cmd.ExtraFiles = []*os.File{theirs}
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.WaitDelay = time.Second // what it started may hold its output open
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	up.SetReadDeadline(time.Now().Add(o.slow(2 * time.Minute)))
	run, err := bufio.NewReader(up).ReadString('\n')
	cmd.Process.Kill()
	cmd.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), o.slow(time.Minute))
	defer cancel()
	failed := ledger.Clean(ctx, state, false, func(r ledger.Removed) { t.Logf("cleaned %s %s", r.Kind, r.Name) })
	if failed != nil {
		t.Errorf("clean: %v", failed)
	}
	if err != nil {
		t.Fatalf("the run to be killed did not come up: %v\n%s", err, said.String())
	}
	dead := &suite{p: p, o: o, state: state, env: bench.Env{Run: strings.TrimSpace(run)}}
	if dead.ledger, err = ledger.Open(state, "clean"); err != nil {
		t.Fatal(err)
	}
	if left := dead.leftovers(); len(left) > 0 {
		t.Errorf("after cleaning there is left behind: %q", left)
	}
	if _, err := os.Stat(bench.RuntimeDir + "/" + dead.env.Run); err == nil {
		t.Errorf("the runtime directory of %s is left behind", dead.env.Run)
	}
}

// abandon is the run that gets killed.
func abandon(t *testing.T, p bench.Platform, o Options) {
	unix.CloseOnExec(3)
	up := os.NewFile(3, "up")
	s := open(t, p, o, newRun(p)+"-killed", os.Getenv(abandonEnv))
	b := s.start(t)
	s.succeed(t, b, "true")
	if _, err := b.agent.Start(t.Context(), bench.Command{Argv: []string{"sleep", "600"}, Timeout: time.Hour}, nil); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(up, s.env.Run)
	time.Sleep(10 * time.Minute)
}
