package trial

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/platform/fake"
	"tare/internal/platform/launch"
	"tare/internal/platform/platformtest"
	"tare/internal/state/ledger"
)

// moded is a platform with an option that is tried by its values.
type moded struct{ *fake.Platform }

func (moded) Options() []bench.Option {
	return []bench.Option{{Name: "mode", Values: []string{"a", "b", "c"}, Default: "a"}, {Name: "other", Values: []string{"x"}, Default: "x"}}
}

// host is one on which a platform is tried.
type host struct {
	p        *Platform
	env      bench.Env
	launches atomic.Int32
	faults   map[string]fake.Fault // by mode
}

func newHost(t *testing.T, option string) *host {
	t.Helper()
	h := &host{faults: map[string]fake.Fault{}}
	state := t.TempDir()
	led, err := ledger.Open(state, "trial")
	if err != nil {
		t.Fatal(err)
	}
	h.env = bench.Env{Run: "trial", Dir: t.TempDir(), Ledger: led, AgentPath: platformtest.Agent(t)}
	h.p = Of(moded{fake.New(fake.Options{Name: "x", Fault: func(l bench.Launch) fake.Fault {
		h.launches.Add(1)
		return h.faults[l.Options["mode"]]
	}})}, state, option)
	h.p.book.Host = t.TempDir()
	h.move(t, "boot-1", "Xeon", "sse amx_tile")
	return h
}

// move changes what a verdict holds for.
func (h *host) move(t *testing.T, boot, model, flags string) {
	t.Helper()
	for path, text := range map[string]string{
		"proc/sys/kernel/random/boot_id": boot + "\n",
		"proc/cpuinfo": "processor\t: 0\nmodel name\t: " + model + "\ncpu MHz\t\t: " + time.Now().String() + "\nflags\t\t: " + flags +
			"\n\nprocessor\t: 1\nmodel name\t: another\n",
	} {
		path = filepath.Join(h.p.book.Host, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// expect probes the platform, which takes so many launches, and returns what Check says then.
func (h *host) expect(t *testing.T, launches int32, what string) (bench.Availability, error) {
	t.Helper()
	before := h.launches.Load()
	probed := h.p.Probe(t.Context(), h.env)
	if got := h.launches.Load() - before; got != launches {
		t.Errorf("%s: %d launches, want %d", what, got, launches)
	}
	a, err := h.p.Check(t.Context())
	if (probed == nil) != (err == nil) || a.Untried {
		t.Errorf("%s: probed: %v; checked: %v, untried %t", what, probed, err, a.Untried)
	}
	return a, err
}

// A verdict is made once, and again only for another boot, CPU or version.
func TestTriedOnce(t *testing.T) {
	h := newHost(t, "")
	if a, err := h.p.Check(t.Context()); err != nil || !a.Untried || h.launches.Load() != 0 {
		t.Fatalf("a check that changes nothing: %+v, %v, %d launches", a, err, h.launches.Load())
	}
	for _, c := range []struct {
		what     string
		move     func()
		launches int32
	}{
		{"the first run", func() {}, 1},
		{"the second", func() {}, 0},
		{"another reading of the clock", func() { h.move(t, "boot-1", "Xeon", "sse amx_tile") }, 0},
		{"another boot", func() { h.move(t, "boot-2", "Xeon", "sse amx_tile") }, 1},
		{"a CPU of another name", func() { h.move(t, "boot-2", "EPYC", "sse amx_tile") }, 1},
		{"without AMX", func() { h.move(t, "boot-2", "EPYC", "sse") }, 1},
		{"a verdict cut short", func() {
			if err := os.WriteFile(h.p.book.File("tried-x"), []byte(`{"boot": "bo`), 0o644); err != nil {
				t.Fatal(err)
			}
		}, 1},
		{"another version", func() {
			if err := h.p.book.Keep("tried-x", "0", time.Now(), Failure{Reason: "too old"}); err != nil {
				t.Fatal(err)
			}
		}, 1},
	} {
		c.move()
		if _, err := h.expect(t, c.launches, c.what); err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	if left, err := os.ReadDir(h.env.Dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A platform that does not start is unavailable, with the reason and how to try again, which works.
func TestDoesNotStart(t *testing.T) {
	h := newHost(t, "")
	h.p.Within(300 * time.Millisecond)
	for _, c := range []struct {
		fault      fake.Fault
		says, hint string
	}{
		{fake.Fault{Start: errors.New("no such CPU")}, "a trial start failed: start trial-try0: no such CPU", "to try again remove " + h.p.book.File("tried-x")},
		{fake.Fault{Silent: true}, "not up after 300ms", "the next run tries again"},
	} {
		h.faults["a"] = c.fault
		for n := range int32(2) {
			_, err := h.expect(t, 1-n, c.says)
			if !errors.Is(err, bench.ErrUnavailable) || !strings.Contains(err.Error(), c.says) || !strings.Contains(bench.HintOf(err), c.hint) {
				t.Errorf("%s: %v, hint %q", c.says, err, bench.HintOf(err))
			}
		}
		if _, err := h.p.Open(t.Context(), h.env); !errors.Is(err, bench.ErrUnavailable) {
			t.Errorf("%s: it opens: %v", c.says, err)
		}
		if err := os.Remove(h.p.book.File("tried-x")); err != nil {
			t.Fatal(err)
		}
	}
	h.faults["a"] = fake.Fault{}
	h.p.Within(Limit)
	if _, err := h.expect(t, 1, "mended"); err != nil {
		t.Error(err)
	}
}

// panicking is a platform whose instances say at once that nothing in them goes on.
type panicking struct{ bench.Platform }

func (p panicking) Open(ctx context.Context, e bench.Env) (bench.Engine, error) {
	engine, err := p.Platform.Open(ctx, e)
	return panickingEngine{engine}, err
}

type panickingEngine struct{ bench.Engine }

func (e panickingEngine) Start(ctx context.Context, l bench.Launch) (bench.Instance, error) {
	i, err := e.Engine.Start(ctx, l)
	return panicked{i}, err
}

type panicked struct{ bench.Instance }

func (p panicked) Stream() io.ReadWriteCloser { return deadStream{p.Instance.Stream()} }

type deadStream struct{ io.ReadWriteCloser }

func (deadStream) Read([]byte) (int, error) {
	return 0, &launch.Fatal{Line: "Kernel panic - not syncing: AMX"}
}

// That an instance was not up in time holds for the run that tried: the host may have been
// busy. Another run tries again. What a kernel said with its last words holds.
func TestLateIsTriedAgain(t *testing.T) {
	h := newHost(t, "")
	h.p.Within(300 * time.Millisecond)
	h.faults["a"] = fake.Fault{Silent: true}
	for _, by := range []string{"", "another", "a third"} {
		h.p.book.by = by
		for n := range int32(2) {
			if _, err := h.expect(t, 1-n, "late in "+by); !errors.Is(err, bench.ErrUnavailable) {
				t.Errorf("late in %s: %v", by, err)
			}
		}
	}
	h.p.book.by, h.faults["a"] = "a quiet one", fake.Fault{}
	h.p.Within(Limit)
	if _, err := h.expect(t, 1, "quiet"); err != nil {
		t.Error(err)
	}

	h = newHost(t, "")
	h.p.Platform = panicking{h.p.Platform}
	for n, by := range []string{"", "another"} {
		h.p.book.by = by
		_, err := h.expect(t, int32(1-n), "panic in "+by)
		if !errors.Is(err, bench.ErrUnavailable) || !strings.Contains(err.Error(), "AMX") || !strings.Contains(bench.HintOf(err), h.p.book.File("tried-x")) {
			t.Errorf("panic in %s: %v, hint %q", by, err, bench.HintOf(err))
		}
	}
}

// Each value of the option is tried by itself, and those that fail are lacking.
func TestVariantsTried(t *testing.T) {
	h := newHost(t, "mode")
	h.faults["b"] = fake.Fault{Start: errors.New("no mode b here")}
	a, err := h.expect(t, 3, "three modes")
	if err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[string]string{"a": "", "b": "no mode b here", "c": ""} {
		lack := a.Lacking(map[string]string{"mode": mode, "other": "x"})
		if want == "" && lack != nil || want != "" && (lack == nil || !strings.Contains(lack.Error(), want) || bench.HintOf(lack) == "") {
			t.Errorf("mode %s: %v", mode, lack)
		}
	}
	h.move(t, "boot-2", "Xeon", "sse")
	for _, mode := range []string{"a", "b", "c"} {
		h.faults[mode] = fake.Fault{Start: errors.New("nothing starts")}
	}
	if _, err := h.expect(t, 3, "none works"); !errors.Is(err, bench.ErrUnavailable) || !strings.Contains(err.Error(), "nothing starts") {
		t.Errorf("none works: %v", err)
	}
}

// What says nothing of the platform is no verdict.
func TestNoVerdict(t *testing.T) {
	h := newHost(t, "")
	h.faults["a"] = fake.Fault{Start: syscall.ENOSPC}
	if _, err := h.p.Open(t.Context(), h.env); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a full disk: %v", err)
	}
	h.faults["a"] = fake.Fault{Silent: true}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := h.p.Probe(ctx, h.env); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, bench.ErrUnavailable) {
		t.Errorf("stopped: %v", err)
	}
	if a, err := h.p.Check(t.Context()); err != nil || !a.Untried {
		t.Errorf("there is a verdict: %+v, %v", a, err)
	}
	h.faults["a"] = fake.Fault{}
	e, err := h.p.Open(t.Context(), h.env)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if a, err := h.p.Check(t.Context()); err != nil || a.Untried {
		t.Errorf("opening it decides: %+v, %v", a, err)
	}
}
