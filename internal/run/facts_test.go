package run

import (
	"context"
	"slices"
	"testing"

	"tare/internal/bench"
	"tare/internal/platform/fake"
)

// loud is an engine the first of whose instances is held up at printing.
type loud struct {
	bench.Engine
	launches int
}

func (l *loud) Start(ctx context.Context, at bench.Launch) (bench.Instance, error) {
	i, err := l.Engine.Start(ctx, at)
	l.launches++
	return loudInstance{i, l.launches == 1}, err
}

type loudInstance struct {
	bench.Instance
	heldUp bool
}

func (i loudInstance) HeldUp() bool { return i.heldUp }

// That an instance printed faster than is read is told with its trial, and with no other.
func TestHeldUpAtPrinting(t *testing.T) {
	r, s := newRunner(t, counter{}, fake.Options{}, scene("a", subjects(2, nil)), scene("b", subjects(1, nil)))
	e := r.Engines["fake"]
	e.Engine = &loud{Engine: e.Engine}
	r.Engines["fake"] = e
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	const want = "subject-0 was held up: on a console, or through its runtime, it printed as fast as is read at most"
	for i, o := range s.outcomes {
		if slices.Contains(o.Warnings, want) != (i == 0) || slices.Contains(o.Warnings, "subject-1"+want[len("subject-1"):]) {
			t.Errorf("%s is %s with the warnings %q", o.Trial, o.Status, o.Warnings)
		}
	}
}
