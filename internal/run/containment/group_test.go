package containment

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
)

// A containment whose time is over is killed, and the watch says so. The time runs from
// when the work began, however long that took to prepare.
func TestOverdue(t *testing.T) {
	g := newGuard(t, "overdue")
	c := newGroup(t, g, "containment", bench.Containment{Pids: 100, Memory: 64 * bench.MiB})
	sleeper(t, c)
	w := watch(t, g, 300*time.Millisecond, c)
	select {
	case <-w.Ended():
		t.Error("the time of a containment was over before its work began")
	case <-time.After(time.Second):
	}
	if err := w.Begin(); err != nil {
		t.Fatal(err)
	}
	select {
	case why := <-w.Ended():
		if why != "" {
			t.Errorf("ended because %s", why)
		}
	case <-time.After(20 * time.Second):
		t.Error("the watchdog did not end it")
	}
	if r := release(t, w); !r.Overdue || r.Ended != "" || len(r.Starts) == 0 || r.P50 <= 0 || r.Max < r.P99 || r.P99 < r.P50 {
		t.Errorf("%+v", r)
	}
	empty(t, c)
}

// A host with less memory than the floor suffers.
func TestFloor(t *testing.T) {
	g := newGuard(t, "floor")
	g.Rules.Floor = bench.TiB * 1024
	c := newGroup(t, g, "containment", bench.Containment{Pids: 100, Memory: 64 * bench.MiB})
	sleeper(t, c)
	w := watch(t, g, time.Minute, c)
	why := <-w.Ended()
	if !strings.Contains(why, "of memory were available") {
		t.Errorf("ended because %q", why)
	}
	if r := release(t, w); r.Ended != why || r.Overdue || r.Available <= 0 {
		t.Errorf("%+v", r)
	}
	empty(t, c)
}

// A host on which no program is started in time suffers: here, because the
// bound cannot be kept by anything.
func TestBound(t *testing.T) {
	g := newGuard(t, "bound")
	g.Rules.Bound, g.Rules.Patience = time.Nanosecond, 200*time.Millisecond
	c := newGroup(t, g, "containment", bench.Containment{Pids: 100, Memory: 64 * bench.MiB})
	w := watch(t, g, time.Minute, c)
	if why := <-w.Ended(); !strings.Contains(why, "no program was started within 1ns") {
		t.Errorf("ended because %q", why)
	}
	release(t, w)
}

// A watchdog whose parent is gone kills the containments; so does the end of a
// watchdog that was killed itself.
func TestNobodyIsLeftAlone(t *testing.T) {
	g := newGuard(t, "alone")
	c := newGroup(t, g, "containment", bench.Containment{Pids: 100, Memory: 64 * bench.MiB})
	sleeper(t, c)
	w := watch(t, g, time.Minute, c)
	if err := w.orders.Close(); err != nil { // all that a dead parent's watchdog sees
		t.Fatal(err)
	}
	select {
	case <-w.last:
		empty(t, c)
	case <-time.After(20 * time.Second):
		t.Fatal("the watchdog goes on without its parent")
	}

	c = newGroup(t, g, "second", bench.Containment{Pids: 100, Memory: 64 * bench.MiB})
	sleeper(t, c)
	w = watch(t, g, time.Minute, c)
	if err := w.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Release(t.Context()); err == nil || !strings.Contains(err.Error(), "without a report") {
		t.Errorf("a watchdog that was killed: %v", err)
	}
	empty(t, c)
}

func TestWatchdogThatIsNone(t *testing.T) {
	g := newGuard(t, "none")
	for _, argv := range [][]string{{"/no/such/program"}, {"sh", "-c", "echo what is this >&2; exit 3"}} {
		g.Watchdog = argv
		if _, err := g.Watch(t.Context(), nil, time.Minute); err == nil || !strings.HasPrefix(err.Error(), "start watchdog: ") {
			t.Errorf("%v: %v", argv, err)
		}
	}
}

func TestGroupNames(t *testing.T) {
	g := newGuard(t, "names")
	if _, err := g.Contain("../up", bench.Containment{Pids: 100, Memory: 64 * bench.MiB}); err == nil || errors.Is(err, bench.ErrUnavailable) {
		t.Errorf("a containment outside of the run: %v", err)
	}
}

// While a watchdog is at work the rest of the host goes before Tare's groups.
func TestTheHostGoesFirst(t *testing.T) {
	g := newGuard(t, "first")
	c := newGroup(t, g, "containment", bench.Containment{Pids: 50, Memory: 64 * bench.MiB})
	weight := func() string {
		t.Helper()
		for controller, file := range map[string]string{"cpu": "cpu.shares", cgroup.Unified: "cpu.weight"} {
			text, err := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(c.group.Dirs()[controller])), file))
			if err == nil {
				return strings.TrimSpace(string(text))
			}
		}
		t.Skip("no controller of CPUs")
		return ""
	}
	before := weight()
	w := watch(t, g, time.Minute, c)
	if got := weight(); got != strconv.Itoa(yielding) && got != strconv.Itoa(cgroup.SharesOf(yielding)) {
		t.Errorf("weight of all groups beside an adversary is %s", got)
	}
	release(t, w)
	if got := weight(); got != before {
		t.Errorf("weight is %s, was %s", got, before)
	}
}
