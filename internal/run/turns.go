package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host/clock"
	"tare/internal/run/containment"
)

// freezeDeadline bounds how long a side may take to freeze.
const freezeDeadline = 5 * time.Second

// turns let a scene's subject and its partner work in turn: one is frozen while the other works.
type turns struct {
	length time.Duration
	sides  [2]*side // in the order in which they begin
	kept   bench.Turns
	err    error
}

// side is an actor that works in turns.
type side struct {
	actor *actor
	group *containment.Group // around its instance
	spans []thawed
}

// thawed is a stretch in which a side was not frozen, in nanoseconds of the host's CLOCK_MONOTONIC.
type thawed struct{ from, to int64 }

// newTurns makes a control group around each side. The partner begins in every other block.
func newTurns(guard *containment.Guard, length time.Duration, block int, actors cast) (*turns, error) {
	if guard == nil {
		return nil, fmt.Errorf("the scene's actors work in turns, and nothing here can make the control groups for it: %w", bench.ErrUnavailable)
	}
	subjects, partners := actors.with(bench.Subject), actors.with(bench.Partner)
	if len(subjects) != 1 || len(partners) != 1 {
		return nil, fmt.Errorf("%d subjects and %d partners cannot work in turns: %w%w", len(subjects), len(partners), bench.ErrInvalid, planAnew)
	}
	t := &turns{length: length}
	for i, a := range []*actor{subjects[0], partners[0]} {
		s := &side{actor: a, spans: []thawed{{0, math.MaxInt64}}}
		a.around = "turns-" + a.id
		var err error
		if s.group, err = guard.Turns(a.around); err != nil {
			return t, err
		}
		t.sides[(i+block+1)%2] = s
	}
	return t, nil
}

// take has the sides work in turn from the opening of the window until ctx ends. Both are thawed then.
func (t *turns) take(ctx context.Context, opened <-chan struct{}) {
	select {
	case <-opened:
	case <-ctx.Done():
		return
	}
	runtime.LockOSThread() // never unlocked: the thread, with its priority, ends with the goroutine
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), -20)
	for next := 0; ctx.Err() == nil; next = 1 - next {
		err := t.sides[1-next].freeze(ctx, &t.kept.Slowest)
		if err == nil {
			err = t.sides[next].thaw()
		}
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			t.err = err
			break
		}
		t.kept.Taken++
		_ = sleep(ctx, t.length)
	}
	t.err = errors.Join(t.err, t.thaw())
}

// thaw thaws both sides.
func (t *turns) thaw() error {
	var errs []error
	for _, s := range t.sides {
		if s != nil {
			errs = append(errs, s.thaw())
		}
	}
	return errors.Join(errs...)
}

// close thaws and ends what is left of both sides, and removes their control groups.
func (t *turns) close(ctx context.Context) error {
	var errs []error
	for _, s := range t.sides {
		if s != nil {
			errs = append(errs, s.group.Close(ctx))
		}
	}
	return errors.Join(errs...)
}

// freeze freezes the side. The slowest freeze so far is kept, in milliseconds.
func (s *side) freeze(ctx context.Context, slowest *float64) error {
	ctx, cancel := context.WithTimeoutCause(ctx, freezeDeadline, fmt.Errorf("not frozen after %v", freezeDeadline))
	defer cancel()
	began := clock.Now()
	if err := s.group.Freeze(ctx); err != nil {
		return fmt.Errorf("%s cannot wait for its turn: %w", s.actor.Name, err)
	}
	now := clock.Now()
	*slowest = max(*slowest, float64(now-began)/1e6)
	s.spans[len(s.spans)-1].to = now
	return nil
}

// thaw lets the side work, if it does not.
func (s *side) thaw() error {
	if s.spans[len(s.spans)-1].to == math.MaxInt64 {
		return nil
	}
	s.spans = append(s.spans, thawed{clock.Now(), math.MaxInt64})
	if err := s.group.Thaw(); err != nil {
		return fmt.Errorf("%s cannot take its turn: %w", s.actor.Name, err)
	}
	return nil
}

// worked returns for how many seconds the side was not frozen from an instant to another.
func (s *side) worked(from, to int64) float64 {
	sum := int64(0)
	for _, t := range s.spans {
		sum += max(0, min(t.to, to)-max(t.from, from))
	}
	return float64(sum) / 1e9
}

// collect makes the sides' counts into the subject's value.
func (t *turns) collect(j *jobs) error {
	rates := map[bench.Role]float64{}
	for _, s := range t.sides {
		counted, err := s.count(j)
		if err != nil {
			return fmt.Errorf("turns of %s: %w", s.actor.Name, err)
		}
		t.kept.Sides = append(t.kept.Sides, counted)
		rates[s.actor.Role] = counted.Rate()
	}
	j.account.outcome.Turns = &t.kept
	for _, s := range t.sides {
		if s.actor.Role == bench.Subject {
			s.actor.outcome.Values = []bench.Value{{Metric: bench.TurnMetrics[0].Name, Value: rates[bench.Subject] / rates[bench.Partner]}}
		}
	}
	return nil
}

// count reads what the side's program counted, and for how long it was not frozen meanwhile.
func (s *side) count(j *jobs) (bench.TurnSide, error) {
	a := s.actor
	w := j.workloads[a.Workload]
	counter, ok := w.(bench.Counter)
	if !ok {
		return bench.TurnSide{}, fmt.Errorf("%s does not count its work: %w%w", a.Workload, bench.ErrInvalid, planAnew)
	}
	if _, err := w.Parse(a.Params, j.setting(a), *a.outcome.Output); err != nil {
		return bench.TurnSide{}, err
	}
	work, took, err := counter.Counted(a.Params, *a.outcome.Output)
	if err != nil {
		return bench.TurnSide{}, err
	}
	counted := bench.TurnSide{Actor: a.Name, Work: work, Seconds: s.worked(a.ended-int64(took), a.ended)}
	if !(counted.Seconds > 0) || !(counted.Work > 0) {
		return counted, fmt.Errorf("%v of work in %v s", counted.Work, counted.Seconds)
	}
	return counted, nil
}
