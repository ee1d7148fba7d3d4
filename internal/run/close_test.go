package run

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tare/internal/bench"
	"tare/internal/host/tool"
	"tare/internal/host/tree"
	"tare/internal/platform/fake"
)

// A trial whose directories cannot be removed has failed and says what to do. The run goes on
// once their disk answers again, and ends before the next trial where it does not.
func TestDiskThatDoesNotAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		silent   int // the first so many removals
		statuses []bench.Status
		ends     bool
	}{
		"for a while": {1, []bench.Status{bench.Failed, bench.Done}, false},
		"for good":    {1000, []bench.Status{bench.Failed}, true},
	} {
		t.Run(name, func(t *testing.T) {
			r, s := newRunner(t, counter{}, fake.Options{}, scene("a", subjects(2, nil)), scene("b", subjects(1, nil)))
			removals := 0
			r.Remove = func(_ context.Context, dirs ...string) error {
				if removals++; removals <= c.silent {
					return tool.Late(tool.Deadline)
				}
				for _, dir := range dirs {
					if err := tree.Remove(dir); err != nil {
						return err
					}
				}
				return nil
			}
			err := r.Run(t.Context(), nil)
			if c.ends != (err != nil) || c.ends && (!errors.Is(err, tool.ErrLate) || !strings.Contains(bench.HintOf(err), "fsfreeze --unfreeze") ||
				!strings.Contains(err.Error(), "run stopped before trial b01-t02: the disk of "+r.Dir+" does not answer: ")) {
				t.Errorf("it ended with %v, hint %q", err, bench.HintOf(err))
			}
			if len(s.outcomes) != len(c.statuses) {
				t.Fatalf("%d trials have an outcome, not %d", len(s.outcomes), len(c.statuses))
			}
			for i, o := range s.outcomes {
				if o.Status != c.statuses[i] {
					t.Errorf("%s is %s: %s", o.Trial, o.Status, o.Error)
				}
			}
			first := s.outcomes[0]
			if first.Phase != "close" || !strings.Contains(first.Error, "remove directories of trial b01-t01: not done in time") ||
				!strings.Contains(first.Hint, "fsfreeze --unfreeze") {
				t.Errorf("it failed in %s: %s, hint %q", first.Phase, first.Error, first.Hint)
			}
			if left, err := os.ReadDir(r.Dir); err != nil || !c.ends && len(left) > 0 {
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
}

// hung is an engine, and its instance, that heed no deadline until they are released.
type hung struct {
	bench.Engine
	bench.Instance
	release chan struct{}
	closed  int
}

func (h *hung) Start(context.Context, bench.Launch) (bench.Instance, error) {
	<-h.release
	return h, nil
}

func (h *hung) Log() string { <-h.release; return "" }

func (h *hung) Close(context.Context) error {
	<-h.release
	h.closed++
	return nil
}

// What hangs in the kernel is given up, whichever part of a driver it is in. An instance that
// comes up all the same is closed.
func TestDriverThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hung{release: make(chan struct{})}
		ctx, cancel := context.WithTimeoutCause(t.Context(), startDeadline, errors.New("not up in time"))
		defer cancel()
		began := time.Now()
		i, err := start(ctx, h, bench.Launch{})
		if i != nil || !errors.Is(err, tool.ErrLate) || !strings.HasPrefix(err.Error(), "not up in time: ") || bench.HintOf(err) == "" {
			t.Errorf("start: %v, %v", i, err)
		}
		if took := time.Since(began); took != startDeadline+startGrace {
			t.Errorf("start was given up after %v", took)
		}
		a := &actor{instance: h}
		began = time.Now()
		if err := a.close(t.Context()); !errors.Is(err, tool.ErrLate) || bench.HintOf(err) == "" {
			t.Errorf("close: %v", err)
		}
		if took := time.Since(began); took != closeDeadline+closeGrace {
			t.Errorf("close was given up after %v", took)
		}
		if log := a.log(); !strings.Contains(log, "not done in time") {
			t.Errorf("log: %q", log)
		}
		close(h.release)
		synctest.Wait()
		if h.closed != 2 { // by the close that was given up, and since it came up
			t.Errorf("closed %d times", h.closed)
		}
	})
}
