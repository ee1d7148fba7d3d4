package platformtest

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/guest/agent"
	"tare/internal/host/clock"
)

// box is a started instance with its agent.
type box struct {
	bench.Instance
	agent  *agent.Client
	id     string
	called int64 // when Start was, on the monotonic clock
}

// launch is the next launch of the suite's run, on the given CPUs.
func (s *suite) launch(t *testing.T, shape bench.Shape, cpus []int) bench.Launch {
	t.Helper()
	id := fmt.Sprintf("%s-%d", s.env.Run, s.count.Add(1))
	dir := filepath.Join(s.env.Dir, id)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	options := map[string]string{}
	for _, o := range s.p.Options() {
		options[o.Name] = o.Default
	}
	maps.Copy(options, s.o.Options)
	return bench.Launch{ID: id, Shape: shape, CPUSet: cpus, Options: options, Dir: dir, Publish: servedPort}
}

// again is a launch that is over, once more, with a directory that is empty.
func (s *suite) again(t *testing.T, l bench.Launch) bench.Launch {
	t.Helper()
	if err := os.RemoveAll(l.Dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(l.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return l
}

// start starts an instance of the suite's shape, closed when the test ends.
func (s *suite) start(t *testing.T) *box {
	t.Helper()
	b := s.startAs(t, s.launch(t, s.o.Shape, CPUs(t)[:1]))
	s.unenforced, s.started = b.Unenforced(), true
	return b
}

func (s *suite) startAs(t *testing.T, l bench.Launch) *box {
	t.Helper()
	b, err := s.tryStart(t, l)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// tryStart is for goroutines, which must not end the test.
func (s *suite) tryStart(t *testing.T, l bench.Launch) (*box, error) {
	ctx, cancel := context.WithTimeout(t.Context(), s.slow(time.Minute))
	defer cancel()
	called := clock.Now()
	in, err := s.engine.Start(ctx, l)
	if err != nil {
		return nil, fmt.Errorf("%w (hint: %s)", err, bench.HintOf(err))
	}
	b := &box{Instance: in, id: l.ID, called: called}
	t.Cleanup(func() { s.close(t, b) })
	if b.agent, err = agent.Dial(ctx, in.Stream()); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, in.Log())
	}
	b.agent.Mark(l.ID)
	return b, nil
}

// close ends the instance, once.
func (s *suite) close(t *testing.T, b *box) {
	t.Helper()
	if b.Instance == nil {
		return
	}
	if b.agent != nil {
		_ = b.agent.Close() // it may have been killed
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.slow(time.Minute))
	defer cancel()
	if err := b.Close(ctx); err != nil {
		t.Errorf("%v\n%s", err, b.Log())
	}
	b.Instance = nil
}

// exec runs a command inside and fails the test if that cannot be done.
func (s *suite) exec(t *testing.T, b *box, argv ...string) bench.Output {
	t.Helper()
	return s.command(t, b, bench.Command{Argv: argv})
}

func (s *suite) command(t *testing.T, b *box, c bench.Command) bench.Output {
	t.Helper()
	if c.Timeout == 0 {
		c.Timeout = s.slow(time.Minute)
	}
	out, err := b.agent.Exec(t.Context(), c)
	if err != nil {
		t.Fatalf("%v\n%s", err, b.Log())
	}
	return out
}

// succeed runs a command that must exit with 0 and returns its standard output.
func (s *suite) succeed(t *testing.T, b *box, argv ...string) string {
	t.Helper()
	out := s.exec(t, b, argv...)
	if out.Exit != 0 || out.TimedOut {
		t.Fatalf("%v: exit %d, timed out %t: %s", argv, out.Exit, out.TimedOut, out.Stderr)
	}
	return string(out.Stdout)
}

// enforces skips the test if the instance calls the limit unenforced.
func (b *box) enforces(t *testing.T, limit string) {
	t.Helper()
	enforced(t, b.Unenforced(), limit)
}

func enforced(t *testing.T, unenforced []string, limit string) {
	t.Helper()
	if slices.Contains(unenforced, limit) {
		t.Skipf("the platform says it does not enforce the %s", limit)
	}
}
