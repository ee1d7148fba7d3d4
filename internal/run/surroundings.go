package run

import (
	"context"
	"fmt"
	"time"

	"tare/internal/bench"
	"tare/internal/host/clock"
)

// leastPause is for how long other work is looked for before a launch, at least: as long as a burst
// of it that is worth waiting for, and twenty times the step in which the kernel counts.
const leastPause = 200 * time.Millisecond

// surroundings look for other work on the host around the launches of a run, as its plan declares.
// Without a declaration they look for none.
type surroundings struct {
	bound   *bench.Disturbance
	since   func() (bench.OtherWork, error) // see [Runner.OtherWork]
	include func(bench.Scope)               // takes an instance for the run's; nil for nobody to tell
	asked   int64                           // when it was, last
	usual   bench.UsualSteal                // by the outcomes so far
}

// ask returns the other work since it was last asked for.
func (s *surroundings) ask() (bench.OtherWork, error) {
	s.asked = clock.Now()
	return s.since()
}

// quietLook is for how long other work is looked for at a time while it is waited for to end.
const quietLook = time.Second

// wait waits until other work is not above the bound, as long as the limit at most. Say is told what
// is waited for. It returns how long it took.
func (s *surroundings) wait(ctx context.Context, limit time.Duration, say func(string)) (time.Duration, error) {
	bound := bench.DefaultDisturbance
	if s.bound != nil {
		bound = *s.bound
	}
	began := time.Now()
	for left := limit; left > 0; left = limit - time.Since(began) {
		if _, err := s.ask(); err != nil {
			return time.Since(began), err
		}
		if err := sleep(ctx, min(quietLook, left)); err != nil {
			return time.Since(began), err
		}
		w, err := s.ask()
		if err != nil || w.Beyond(s.usual.Run().Before) <= bound.Above {
			return time.Since(began), err
		}
		say(fmt.Sprintf("other work on the host holds %s; waiting up to %v more until it is at most %g",
			&w, max(0, limit-time.Since(began)).Round(time.Second), bound.Above))
	}
	return time.Since(began), nil
}

// begin begins the pause before a launch: nothing of the run is left of the trial before.
func (s *surroundings) begin() {
	if s.bound != nil {
		_, _ = s.ask() // whoever asks next is told what is wrong
	}
}

// pause waits until the pause has lasted long enough to look back on.
func (s *surroundings) pause(ctx context.Context) error {
	if s.bound == nil {
		return nil
	}
	return sleep(ctx, leastPause-time.Duration(clock.Now()-s.asked))
}

// before notes the other work of the pause that the launch ends.
func (s *surroundings) before(k *account) {
	if s.bound == nil {
		return
	}
	w, err := s.ask()
	if err != nil {
		k.warn("other work on the host is not known: %v", err)
		return
	}
	k.outcome.Outside = &bench.Outside{Before: w}
}

// own says which instances are the run's, once it is known where their cost is paid.
func (s *surroundings) own(actors []*actor) {
	for _, a := range actors {
		if s.include != nil && a.outcome.Scope != nil {
			s.include(*a.outcome.Scope)
		}
	}
}

// after notes the other work since the launch, once the measurement has ended, and judges it.
func (s *surroundings) after(k *account, kind bench.SceneKind) {
	o := &k.outcome
	if s.bound == nil || o.Outside == nil {
		return
	}
	if w, err := s.ask(); err == nil && kind.Sampled() && kind != bench.Ramped {
		o.Outside.During = &w
	}
	o.Disturbed = s.bound.Of(o.Outside, s.usual.Of(o.Scene))
}
