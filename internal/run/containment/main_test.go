package containment

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
	"tare/internal/state/ledger"
)

// asWatchdog makes this binary a watchdog.
const asWatchdog = "TARE_TEST_WATCHDOG"

func TestMain(m *testing.M) {
	if os.Getenv(asWatchdog) != "" {
		if err := Watchdog(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// newGuard is a guard of a run of its own, whose watchdog is this binary.
func newGuard(t *testing.T, run string) *Guard {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("control groups need root")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run = fmt.Sprintf("%s-%d", run, os.Getpid())
	led, err := ledger.Open(t.TempDir(), run)
	if err != nil {
		t.Fatal(err)
	}
	rules := DefaultRules()
	rules.Interval = 10 * time.Millisecond // so that a percentile rests on many
	return &Guard{Run: run, Ledger: led, Rules: rules, Watchdog: []string{"env", asWatchdog + "=1", self}}
}

// newGroup is a containment that is closed when the test ends.
func newGroup(t *testing.T, g *Guard, name string, l bench.Containment) *Group {
	t.Helper()
	c, err := g.Contain(name, l)
	if err != nil {
		t.Skipf("%v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			t.Error(err)
		}
		for _, dir := range c.group.Dirs() {
			if _, err := os.Stat(dir); err == nil {
				t.Errorf("%s is left", dir)
			}
		}
	})
	return c
}

// sleeper runs a program that does nothing in a group below the containment, as a platform would.
func sleeper(t *testing.T, c *Group) {
	t.Helper()
	host, err := cgroup.Detect()
	if err != nil {
		t.Fatal(err)
	}
	group, _, err := host.Create(c.Name()+"/inner", cgroup.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if err := group.Add(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
}

// watch starts a watchdog that is released when the test ends at the latest.
func watch(t *testing.T, g *Guard, after time.Duration, containments ...*Group) *Watch {
	t.Helper()
	w, err := g.Watch(t.Context(), containments, after)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func release(t *testing.T, w *Watch) bench.Watch {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	report, err := w.Release(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// empty fails unless nothing runs in the containment any more.
func empty(t *testing.T, c *Group) {
	t.Helper()
	pids, err := c.group.Procs()
	if err != nil || len(pids) > 0 {
		t.Errorf("processes %v are left in the containment: %v", pids, err)
	}
}
