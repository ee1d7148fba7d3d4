package fake

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/guest/agent"
	"tare/internal/host/clock"
	"tare/internal/platform/platformtest"
	"tare/internal/state/ledger"
)

var errBoom = errors.New("boom")

// start starts an instance with the fault.
func start(t *testing.T, f Fault) (bench.Instance, *ledger.Ledger, error) {
	t.Helper()
	led, err := ledger.Open(t.TempDir(), "r")
	if err != nil {
		t.Fatal(err)
	}
	p := New(Options{Fault: func(l bench.Launch) Fault {
		if l.ID != "faulty" {
			t.Errorf("asked about %q", l.ID)
		}
		return f
	}})
	e, err := p.Open(t.Context(), bench.Env{Ledger: led, AgentPath: platformtest.Agent(t)})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "faulty")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	i, err := e.Start(t.Context(), bench.Launch{ID: "faulty", Dir: dir})
	return i, led, err
}

func nothingHeld(t *testing.T, l *ledger.Ledger) {
	t.Helper()
	if held, err := l.Held(); err != nil || len(held) > 0 {
		t.Errorf("left in the ledger: %v, %v", held, err)
	}
}

func TestStartFails(t *testing.T) {
	_, led, err := start(t, Fault{Start: errBoom})
	if !errors.Is(err, errBoom) {
		t.Errorf("%v", err)
	}
	nothingHeld(t, led)
}

func TestSilent(t *testing.T) {
	i, led, err := start(t, Fault{Silent: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := agent.Dial(ctx, i.Stream()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("dial: %v", err)
	}
	if err := i.Close(t.Context()); err != nil {
		t.Error(err)
	}
	nothingHeld(t, led)
}

func TestDieAfter(t *testing.T) {
	i, led, err := start(t, Fault{DieAfter: 300 * time.Millisecond, Close: errBoom})
	if err != nil {
		t.Fatal(err)
	}
	c, err := agent.Dial(t.Context(), i.Stream())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := c.Exec(ctx, bench.Command{Argv: []string{"cat", "/dev/zero"}, Timeout: time.Minute})
	if err == nil || ctx.Err() != nil {
		t.Errorf("exec after its death: %d bytes, %v", len(out.Stdout), err)
	}
	if err := i.Close(t.Context()); !errors.Is(err, errBoom) {
		t.Errorf("close: %v", err)
	}
	nothingHeld(t, led)
}

func TestUnavailable(t *testing.T) {
	p := New(Options{Name: "other", Check: errBoom, Open: errBoom})
	if _, err := p.Check(t.Context()); !errors.Is(err, errBoom) || p.Name() != "other" {
		t.Errorf("%s: %v", p.Name(), err)
	}
	if _, err := p.Open(t.Context(), bench.Env{}); !errors.Is(err, errBoom) {
		t.Errorf("%v", err)
	}
}

// The clock jumps at its time, for probes and samples alike, and nothing else is touched.
func TestStep(t *testing.T) {
	i, led, err := start(t, Fault{Step: time.Hour, StepAfter: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	c, err := agent.Dial(t.Context(), i.Stream())
	if err != nil {
		t.Fatal(err)
	}
	o, err := c.Probe(t.Context(), 1)
	if d := time.Duration(o.Offset) - time.Hour; err != nil || d.Abs() > time.Minute {
		t.Errorf("probe: %+v, %v", o, err)
	}
	before := clock.Now()
	now, err := c.Sample(t.Context(), make([]float64, len(c.Columns())))
	if d := time.Duration(now-before) - time.Hour; err != nil || d.Abs() > time.Minute {
		t.Errorf("sampled at %d after %d: %v", now, before, err)
	}
	out, err := c.Exec(t.Context(), bench.Command{Argv: []string{"echo", "0123456789abcdef"}, Timeout: time.Minute})
	if err != nil || string(out.Stdout) != "0123456789abcdef\n" {
		t.Errorf("%q, %v", out.Stdout, err)
	}
	if err := errors.Join(c.Close(), i.Close(t.Context())); err != nil {
		t.Error(err)
	}
	nothingHeld(t, led)
}
