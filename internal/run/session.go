package run

import (
	"context"
	"fmt"
	"time"

	"tare/internal/bench"
)

// session is a plan that is carried out: what outlives its trials.
type session struct {
	*Runner
	finished map[string]bool // trials, by id
	due      map[string]int  // trials that other work disturbed, to be launched again, and which launch that is
	around   *surroundings
	waited   time.Duration // for other work to end, since the last trial
	launches record
	power    powerWatches
	dirs     *dirs
	daemons  daemons
	cache    *pageCache
}

// recall learns from the outcomes there are.
func (s *session) recall() error {
	if s.Before == nil {
		return nil
	}
	for o, err := range s.Before {
		if err != nil {
			return fmt.Errorf("what became of the trials so far: %w", err)
		}
		s.learn(o)
	}
	return nil
}

// learn takes notice of an outcome, in the order of the run.
func (s *session) learn(o *bench.Outcome) {
	s.launches.learn(o)
	s.around.usual.Learn(o)
	if s.Rule != nil {
		s.Rule.Learn(o)
	}
	switch {
	case s.Plan.Repeats(o):
		s.due[o.Trial] = o.Repeat + 1
	case o.Status.Final():
		delete(s.due, o.Trial)
	}
}

// run carries out the trials in the plan's order.
func (s *session) run(ctx context.Context) error {
	enough := map[string]bool{}
	rested := map[int]bool{} // blocks before which the machine has rested
	for i, t := range s.Plan.Trials {
		scene := s.Plan.Scene(t.Scene)
		if scene == nil {
			return fmt.Errorf("plan: trial %s names scene %q, which is not in the plan: %w", t.ID, t.Scene, bench.ErrInvalid)
		}
		if !s.finished[t.ID] && !enough[scene.ID] {
			if s.Rule != nil && s.Rule.Over(i) {
				return s.endWithin(ctx, i, rested)
			}
			if !rested[t.Block] {
				rested[t.Block] = true
				if err := s.calm(ctx, t); err != nil {
					return err
				}
				if err := s.rest(ctx, i, t.Block, 1); err != nil {
					return err
				}
			}
			if s.due[t.ID] == 0 { // else it was launched, and is again at the end of the block
				if err := s.carryOut(ctx, i, t, scene); err != nil {
					return err
				}
			}
		}
		if i+1 == len(s.Plan.Trials) || s.Plan.Trials[i+1].Block != t.Block {
			if err := s.repeat(ctx, t.Block); err != nil {
				return err
			}
			if rested[t.Block] {
				if err := s.rest(ctx, i, t.Block, 2); err != nil {
					return err
				}
			}
			s.look(t.Block, enough)
		}
	}
	return nil
}

// calm waits before a block for other work to end, where that is asked for.
func (s *session) calm(ctx context.Context, next bench.Trial) error {
	if s.QuietWait <= 0 {
		return nil
	}
	took, err := s.around.wait(ctx, s.QuietWait, func(what string) { s.notify(Event{Trial: next, Waits: what}) })
	if err != nil {
		return fmt.Errorf("run stopped before trial %s, waiting for a quiet host: %w", next.ID, err)
	}
	s.waited += took
	return nil
}

// repeat launches the trials of a block again that other work disturbed, until none is due: those
// that were launched the fewest times first, in the plan's order.
func (s *session) repeat(ctx context.Context, block int) error {
	for {
		next := -1
		for i, t := range s.Plan.Trials {
			if n := s.due[t.ID]; t.Block == block && n > 0 && (next < 0 || n < s.due[s.Plan.Trials[next].ID]) {
				next = i
			}
		}
		if next < 0 {
			return nil
		}
		t := s.Plan.Trials[next]
		if err := s.carryOut(ctx, next, t, s.Plan.Scene(t.Scene)); err != nil {
			return err
		}
	}
}

// rest measures the machine at rest before (1) or after (2) the trials of a
// block, where something measures power.
func (s *session) rest(ctx context.Context, i, block, n int) error {
	t := bench.Trial{ID: bench.IdleID(block, n), Block: block, Scene: bench.IdleScene}
	if len(s.Power) == 0 || s.Plan.Idle <= 0 || s.finished[t.ID] {
		return nil
	}
	scene := &bench.Scene{ID: bench.IdleScene, Kind: bench.Idling, Case: bench.IdleScene, Timing: bench.Timing{Measure: s.Plan.Idle}}
	return s.carryOut(ctx, i, t, scene)
}

// carryOut runs one trial and stores what became of it. A trial with a platform that
// is given up is stored without having been run.
func (s *session) carryOut(ctx context.Context, i int, t bench.Trial, scene *bench.Scene) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("run stopped before trial %s: %w", t.ID, context.Cause(ctx))
	}
	if err := s.dirs.clear(); err != nil {
		return fmt.Errorf("run stopped before trial %s: %w", t.ID, err)
	}
	kept := &account{outputs: map[string][]byte{}}
	progress := Event{Trial: t, Scene: scene, Index: i}
	told := scene.Kind != bench.Idling // the others are what progress counts
	if told {
		kept.tell = func(phase string) {
			e := progress
			e.Phase = phase
			s.notify(e)
		}
	}
	if end, ok := s.launches.givenUp(scene); ok && !s.Plan.KeepTrying {
		kept.outcome = end.outcome(t)
	} else {
		newTrial(s, t, scene, kept).execute(ctx)
	}
	kept.outcome.Repeat = s.due[t.ID]
	if told {
		kept.outcome.Waited, s.waited = s.waited.Seconds(), 0
	}
	// What was measured is kept even if ctx ended meanwhile.
	err := s.Sink.Append(context.WithoutCancel(ctx), &kept.outcome, kept.samples, kept.outputs)
	if err != nil {
		return fmt.Errorf("store trial %s: %w", t.ID, err)
	}
	s.learn(&kept.outcome)
	s.around.begin()
	if told {
		progress.Outcome, progress.Again = &kept.outcome, s.Plan.Repeats(&kept.outcome)
		s.notify(progress)
	}
	if kept.outcome.Status == bench.Aborted {
		return fmt.Errorf("run stopped in trial %s: %w", t.ID, context.Cause(ctx))
	}
	if kept.outcome.GivenUp == "" {
		_ = sleep(ctx, scene.Timing.Cooldown) // the next trial says that ctx is done
	}
	return nil
}

// endWithin ends a block that the rule cut short: what of it was disturbed is repeated,
// and the machine at rest measured.
func (s *session) endWithin(ctx context.Context, i int, rested map[int]bool) error {
	block := s.Plan.Trials[i].Block
	if err := s.repeat(ctx, block); err != nil {
		return err
	}
	if !rested[block] {
		return nil
	}
	return s.rest(ctx, i, block, 2)
}

// look asks at the end of a block which scenes need no more.
func (s *session) look(block int, enough map[string]bool) {
	if s.Rule == nil {
		return
	}
	for _, sc := range s.Plan.Scenes {
		if !enough[sc.ID] && s.Rule.Enough(sc.ID, block) {
			enough[sc.ID] = true
			s.notify(Event{Trial: bench.Trial{Block: block}, Ended: sc.ID})
		}
	}
}

// sleep waits for the time. That ctx is done before is an error, its cause.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
