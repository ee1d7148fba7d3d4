package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tare/internal/bench"
	"tare/internal/clock"
	"tare/internal/trace"
)

// trial is one execution of a scene under way.
type trial struct {
	*Runner
	index    int
	trial    bench.Trial
	scene    *bench.Scene
	actors   []*actor
	sampler  *sampler
	beside   beside       // the neighbours at work
	stop     func()       // ends what runs beside; nil if nothing does
	restore  func() error // puts the host's conditions back; nil if none was set
	pool     *pool        // of memory, around all actors but peers; nil for none
	outcome  bench.Outcome
	readings []reading // before they are settled
	samples  []bench.Sample
	outputs  map[string][]byte
	events   *trace.Execs // while a start-up is traced
	phase    string
	mu       sync.Mutex // guards outputs
}

func newTrial(r *Runner, index int, t bench.Trial, s *bench.Scene) *trial {
	x := &trial{Runner: r, index: index, trial: t, scene: s, outputs: map[string][]byte{}}
	for i := range s.Actors {
		x.actors = append(x.actors, &actor{
			Actor: s.Actors[i],
			id:    fmt.Sprintf("%s-%s-%d", r.ID, t.ID, i),
			dir:   filepath.Join(r.Dir, fmt.Sprintf("%s-%d", t.ID, i)),
		})
	}
	return x
}

// enter begins a phase and ends the one before.
func (x *trial) enter(phase string) {
	now := clock.Now()
	if n := len(x.outcome.Phases); n > 0 {
		x.outcome.Phases[n-1].End = now
	}
	x.outcome.Phases = append(x.outcome.Phases, bench.Phase{Name: phase, Start: now, End: now})
	x.phase = phase
	if x.scene.Kind == bench.Resting {
		return // it is no trial of the plan's, which is what progress counts
	}
	x.notify(Event{Trial: x.trial, Scene: x.scene, Index: x.index, Phase: phase})
}

func (x *trial) endPhase() {
	if n := len(x.outcome.Phases); n > 0 {
		x.outcome.Phases[n-1].End = clock.Now()
	}
}

// execute runs the trial to its outcome, whatever happens, and leaves no
// instance behind.
func (x *trial) execute(ctx context.Context) {
	x.outcome = bench.Outcome{
		Trial: x.trial.ID, Block: x.trial.Block, Scene: x.scene.ID,
		Started: time.Now().UTC().Format(time.RFC3339Nano), Origin: clock.Now(), Mixed: x.Mixed,
	}
	steps, cancel := context.WithCancelCause(ctx)
	x.beside.halt = cancel
	still := watchStillness()
	err := x.steps(steps)
	stood := still.end()
	failed := x.phase
	cancel(nil)
	if x.pool != nil {
		x.endPool()
	}
	x.noteHeldUp()
	if err != nil {
		x.rememberLogs()
		if ctx.Err() == nil {
			err = x.diagnose(ctx, err)
		}
	}
	if stood != nil && ctx.Err() == nil {
		err = errors.Join(stood, err)
	}
	x.enter("close")
	if cerr := x.close(); cerr != nil {
		if err == nil {
			failed = "close"
		}
		err = errors.Join(err, cerr)
	}
	x.endPhase()
	x.takePower()
	x.outcome.Status = bench.Done
	if err != nil {
		x.outcome.Status, x.outcome.Phase = x.fate(ctx, err), failed
		x.outcome.Error, x.outcome.Hint = err.Error(), bench.HintOf(err)
		x.outcome.Values = nil
	}
	for _, a := range x.actors {
		if x.scene.Ramp != nil && a.outcome.Actor == "" {
			break // the ramp ended before its launch
		}
		x.outcome.Actors = append(x.outcome.Actors, a.outcome)
	}
}

// fate is the status of a trial that came to an error.
func (x *trial) fate(ctx context.Context, err error) bench.Status {
	switch w := x.outcome.Watch; {
	case ctx.Err() != nil:
		return bench.Aborted
	case errors.Is(err, errApart), errors.Is(err, errStill):
		return bench.Failed // whoever has finished; it is the measurement that is none
	case x.starved():
		return bench.DidNotFinish
	case !x.beside.began || !errors.As(err, new(*unfinished)):
		return bench.Failed
	case w != nil && w.Overdue:
		return bench.Overdue
	}
	return bench.DidNotFinish
}

// steps is the procedure of a trial up to, not including, its close.
func (x *trial) steps(ctx context.Context) (err error) {
	if x.scene.Kind == bench.Resting {
		return x.restSteps(func(d time.Duration) error {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(d):
				return nil
			}
		})
	}
	x.enter("setup")
	if x.Conditions != nil && len(x.scene.Conditions) > 0 {
		var err error
		if x.restore, err = x.Conditions(x.scene.Conditions); err != nil {
			return fmt.Errorf("set the conditions of the host: %w", err)
		}
	}
	if err := x.makeDirs(ctx); err != nil {
		return err
	}
	if err := x.provideCache(ctx); err != nil {
		return err
	}
	if x.scene.Ramp != nil {
		return x.ramp(ctx)
	}
	x.listen()
	x.enter("launch")
	if err := x.launch(ctx); err != nil {
		return err
	}
	switch x.scene.Kind {
	case bench.Startup:
		return x.startup(ctx)
	case bench.Migration, bench.Checkpointing:
		return x.migration(ctx)
	}
	x.enter("prepare")
	if err := x.inflate(ctx); err != nil {
		return err
	}
	if err := x.describeScopes(); err != nil {
		return err
	}
	for _, a := range x.actors {
		if a.rests() {
			continue
		}
		if err := a.probe(ctx, "prepare", tripsAround); err != nil {
			return err
		}
	}
	if err := x.observe(ctx); err != nil {
		return err
	}
	defer func() { err = x.endSampling(err) }()
	if err := x.prepare(ctx); err != nil {
		return err
	}
	defer func() {
		if err := x.release(); err != nil { // where the measurement did not come to its end
			x.warn("%v", err)
		}
	}()
	if slices.ContainsFunc(x.actors, func(a *actor) bool { return a.cage != nil }) {
		if err := x.unleash(ctx); err != nil { // a subject in a cage is watched, too
			return err
		}
	}
	if w := x.beside.watch; w != nil {
		if err := w.Begin(); err != nil {
			return err
		}
	}
	x.enter("warmup")
	if err := x.warmup(ctx); err != nil {
		return x.subjectFailed(ctx, err)
	}
	if err := x.measure(ctx); err != nil {
		return x.subjectFailed(ctx, err)
	}
	if err := x.release(); err != nil {
		return err
	}
	x.enter("collect")
	x.probeAfter(ctx)
	if err := x.stopSampler(); err != nil {
		return err
	}
	if err := x.collect(); err != nil {
		return x.subjectFailed(ctx, err)
	}
	return nil
}

// cooldown waits Z before the next trial.
func (x *trial) cooldown(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(x.scene.Timing.Cooldown):
	}
}
