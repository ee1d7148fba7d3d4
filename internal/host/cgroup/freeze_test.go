package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tare/internal/bench"
)

// settling is how long what counts as frozen may take to leave the CPU: v2 counts a task when it is
// on its way.
const settling = 50 * time.Millisecond

// What is frozen uses no CPU, and goes on once thawed. In the guest this is v2's freezer.
func TestFreeze(t *testing.T) {
	g, _ := hostGroup(t, Limits{})
	pid := child(t, g, "spin on").Process.Pid
	t.Cleanup(func() { g.Thaw() }) // before its end is waited for
	used := func() (ns time.Duration) {
		t.Helper()
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
		if err == nil {
			_, err = fmt.Sscan(string(text), &ns)
		}
		if err != nil {
			t.Fatal(err)
		}
		return ns
	}
	runs := func() bool {
		before := used()
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			if used() > before {
				return true
			}
		}
		return false
	}
	if !runs() {
		t.Fatal("it does not run before it is frozen")
	}
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if err := g.Freeze(ctx); err != nil {
			t.Fatal(err)
		}
		cancel()
		time.Sleep(settling)
		before := used()
		time.Sleep(100 * time.Millisecond)
		if after := used(); after != before {
			t.Errorf("it used %v of CPU while frozen", after-before)
		}
		if err := g.Thaw(); err != nil {
			t.Fatal(err)
		}
		if !runs() {
			t.Fatal("it does not run after it was thawed")
		}
	}
	if err := Thaw(g.Name()); err != nil {
		t.Error("a group that is not frozen:", err)
	}
	if err := Thaw("nowhere/at-all"); err != nil {
		t.Error("a group that is not there:", err)
	}
}

// A freeze that does not come to its end says so in time; made on files, in both versions.
func TestFreezeInFiles(t *testing.T) {
	for _, c := range []struct{ name, controller, file, begun, thawed string }{
		{"v1", "freezer", "freezer.state", "FROZEN", "THAWED"},
		{"v2", Unified, "cgroup.freeze", "1", "0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			g := &Group{name: "one", dirs: map[string]string{c.controller: dir}}
			put := func(file, text string) {
				t.Helper()
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			put(c.file, "")
			put("cgroup.events", "populated 1\nfrozen 0\n")
			if c.controller == Unified {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
				defer cancel()
				if err := g.Freeze(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("a group that stays thawed: %v", err)
				}
				put("cgroup.events", "populated 1\nfrozen 1\n")
			}
			if err := g.Freeze(t.Context()); err != nil {
				t.Error(err)
			}
			if text, _ := os.ReadFile(filepath.Join(dir, c.file)); string(text) != c.begun {
				t.Errorf("%s holds %q", c.file, text)
			}
			if err := g.Thaw(); err != nil {
				t.Error(err)
			}
			if text, _ := os.ReadFile(filepath.Join(dir, c.file)); string(text) != c.thawed {
				t.Errorf("%s holds %q", c.file, text)
			}
		})
	}
	none := &Group{name: "one", dirs: map[string]string{"cpu": t.TempDir()}}
	if err := none.Freeze(t.Context()); !errors.Is(err, bench.ErrUnavailable) || bench.HintOf(err) == "" {
		t.Errorf("without a freezer: %v", err)
	}
}
