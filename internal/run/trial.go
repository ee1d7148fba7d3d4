package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"tare/internal/bench"
	"tare/internal/host/clock"
)

// trial is one execution of a scene under way. Its methods are in the order of what happens:
// setUp, launch, ready, measure, close.
type trial struct {
	session  *session
	scene    *bench.Scene
	account  *account
	actors   cast
	launcher *launcher
	jobs     *jobs
	beside   *beside
	observer *observer
	startUp  *startUp
	pool     *pool        // of memory, around all actors but peers; nil for none
	turns    *turns       // of the subject and its partner; nil for none
	restore  func() error // puts the host's conditions back; nil if none was set
}

func newTrial(s *session, t bench.Trial, scene *bench.Scene, kept *account) *trial {
	kept.outcome = bench.Outcome{Trial: t.ID, Block: t.Block, Scene: scene.ID,
		Started: time.Now().UTC().Format(time.RFC3339Nano), Origin: clock.Now(), Mixed: s.Mixed}
	x := &trial{session: s, scene: scene, account: kept}
	for i, a := range scene.Actors {
		y := &actor{Actor: a, run: s.ID, id: fmt.Sprintf("%s-%s-%d", s.ID, t.ID, i), dir: filepath.Join(s.Dir, fmt.Sprintf("%s-%d", t.ID, i))}
		if scene.MemoryPool > 0 && a.Role != bench.Peer {
			y.around = poolName(t.ID)
		}
		y.CPUSet = s.Plan.CPUsIn(t.Block, a.CPUSet)
		x.actors = append(x.actors, y)
	}
	x.actors.send(s.Hosts)
	x.beside = &beside{guard: s.Guard, actors: x.actors, account: kept}
	x.launcher = &launcher{engines: s.Engines, shared: s.Shared, kernel: s.Kernel, network: s.Testnet, beside: x.beside, scene: scene, account: kept, dirs: s.dirs, cache: s.cache}
	x.jobs = &jobs{workloads: s.Workloads, image: s.Image, kernel: s.Kernel, network: s.Testnet, timing: scene.Timing, llc: s.LLC, account: kept, actors: x.actors, beside: x.beside}
	x.observer = &observer{unmetered: scene.Unmetered, interval: s.Interval, cpus: s.Plan.CPUsIn(t.Block, s.Observer), network: s.Testnet, wire: s.Wire,
		account: kept, actors: x.actors, daemons: s.daemons, power: s.power}
	x.startUp = &startUp{cold: scene.Cache == bench.Cold, agentPath: s.AgentPath, account: kept, actors: x.actors, jobs: x.jobs, observer: x.observer}
	return x
}

// execute runs the trial to its outcome, whatever happens, and leaves no
// instance behind.
func (x *trial) execute(ctx context.Context) {
	o := &x.account.outcome
	steps, cancel := context.WithCancelCause(ctx)
	x.beside.halt = cancel
	still := watchStillness()
	err := x.jobs.blame(steps, x.steps(steps))
	x.session.around.own(x.actors)
	x.session.around.after(x.account, x.scene.Kind)
	stood := still.end()
	failed := x.account.phase
	cancel(nil)
	if x.pool != nil {
		x.pool.end(x.actors, x.account)
	}
	x.noteHeldUp()
	if err != nil {
		x.actors.rememberLogs()
		if ctx.Err() == nil {
			err = diagnose(ctx, x.actors, err)
		}
	}
	if stood != nil && ctx.Err() == nil {
		err = errors.Join(stood, err)
	}
	x.account.enter("close")
	if cerr := x.close(); cerr != nil {
		if err == nil {
			failed = "close"
		}
		err = errors.Join(err, cerr)
	}
	x.account.endPhase(clock.Now())
	if !x.scene.Unmetered {
		x.session.power.putInto(x.account)
	}
	o.Status = bench.Done
	if err != nil {
		o.Status, o.Phase = fate(ctx, x.scene, o, x.beside.began, err), failed
		o.Error, o.Hint = err.Error(), bench.HintOf(err)
		o.Values = nil
	}
	o.Actors = []bench.ActorOutcome{}
	for _, a := range x.actors {
		if a.outcome.Actor == "" {
			continue // the trial or the ramp ended before its launch
		}
		o.Actors = append(o.Actors, a.outcome)
	}
}

// steps is the procedure of a trial up to, not including, its close.
func (x *trial) steps(ctx context.Context) (err error) {
	if x.scene.Kind == bench.Idling {
		return rest(ctx, x.observer, x.scene.Timing.Measure)
	}
	x.account.enter("setup")
	if err := x.session.around.pause(ctx); err != nil {
		return err
	}
	if err := x.setUp(ctx); err != nil {
		return err
	}
	x.session.around.before(x.account)
	if x.scene.Ramp != nil {
		r := &ramp{scene: x.scene, account: x.account, actors: x.actors, launcher: x.launcher, jobs: x.jobs, observer: x.observer}
		return r.run(ctx)
	}
	if x.scene.Kind == bench.Startup {
		x.startUp.listen()
	}
	x.account.enter("launch")
	if err := x.launch(ctx); err != nil {
		return err
	}
	switch x.scene.Kind {
	case bench.Startup:
		return x.startUp.collect(ctx)
	case bench.Migration, bench.Checkpointing:
		m := &migration{kind: x.scene.Kind, warmup: x.scene.Timing.Warmup, limit: cmp.Or(x.scene.Timing.Deadline, migrateDeadline),
			account: x.account, subjects: x.actors.with(bench.Subject), jobs: x.jobs, daemons: x.session.daemons}
		return m.run(ctx)
	}
	x.account.enter("prepare")
	if err := x.ready(ctx); err != nil {
		return err
	}
	defer func() { err = x.observer.end(err) }()
	if err := x.jobs.prepare(ctx); err != nil {
		return err
	}
	defer func() {
		if err := x.beside.release(); err != nil { // where the measurement did not come to its end
			x.account.warn("%v", err)
		}
	}()
	if err := x.beside.begin(ctx); err != nil {
		return err
	}
	x.account.enter("warmup")
	if err := x.actors.measured().each(func(a *actor) error { return a.warmUp(ctx) }); err != nil {
		return subjectFailed(ctx, err)
	}
	x.account.enter("measure")
	if err := x.measure(ctx); err != nil {
		return subjectFailed(ctx, err)
	}
	if err := x.beside.release(); err != nil {
		return err
	}
	x.account.enter("collect")
	x.actors.probeAfter(ctx)
	if err := x.observer.stop(); err != nil {
		return err
	}
	if err := x.jobs.collect(x.turns); err != nil { // the programs had ended well
		return subjectFailed(ctx, &ownEnd{err})
	}
	return nil
}

// setUp brings the host into the state that the scene asks for.
func (x *trial) setUp(ctx context.Context) error {
	if x.session.Conditions != nil && len(x.scene.Conditions) > 0 {
		var err error
		if x.restore, err = x.session.Conditions(x.scene.Conditions); err != nil {
			return fmt.Errorf("set the conditions of the host: %w", err)
		}
	}
	if err := x.session.dirs.make(ctx, x.actors); err != nil {
		return err
	}
	for _, a := range x.actors.with(bench.Subject) {
		if err := x.session.cache.provide(ctx, x.scene.Cache, a, x.launcher); err != nil {
			return fmt.Errorf("%s page cache for %s: %w", x.scene.Cache, a.Platform, err)
		}
	}
	return nil
}

// launch starts every actor, those that serve or surround the subjects first,
// and waits until its agent has greeted.
func (x *trial) launch(ctx context.Context) (err error) {
	if err := x.beside.contain(x.session.Workloads); err != nil {
		return err
	}
	if x.scene.MemoryPool > 0 {
		if x.pool, err = newPool(ctx, x.session.Guard, poolName(x.account.outcome.Trial), x.scene.MemoryPool); err != nil {
			return err
		}
	}
	if x.scene.Turns > 0 {
		if x.turns, err = newTurns(x.session.Guard, x.scene.Turns, x.account.outcome.Block, x.actors); err != nil {
			return err
		}
	}
	for _, role := range []bench.Role{bench.Peer, bench.Idle, bench.Neighbour, bench.Partner, bench.Member, bench.Subject} {
		for _, a := range x.actors.with(role) {
			if a.publish, err = x.jobs.published(a); err != nil {
				return fmt.Errorf("workload %s in %s: %w", a.Workload, a.Name, err)
			}
			if err := x.launcher.launch(ctx, a); err != nil {
				return fmt.Errorf("launch %s on %s: %w", a.Name, a.Platform, err)
			}
		}
	}
	return nil
}

// ready has the instances give up the memory they are not to have, compares their clocks
// and begins to observe them.
func (x *trial) ready(ctx context.Context) error {
	if ratio := x.scene.MemoryRatio(); ratio > 1 {
		if err := x.actors.inflate(ctx, ratio); err != nil {
			return err
		}
	}
	if err := x.session.daemons.describe(x.actors...); err != nil {
		return err
	}
	for _, a := range x.actors {
		if a.mute() {
			continue
		}
		if err := a.probe(ctx, "prepare", tripsAround); err != nil {
			return err
		}
	}
	var processes []bench.Process
	if start := x.session.Beside; start != nil && !x.scene.Unmetered {
		var err error
		if processes, x.observer.stopBeside, err = start(ctx, x.scene); err != nil {
			return fmt.Errorf("start what runs beside: %w", err)
		}
	}
	return x.observer.start(processes)
}

// measure measures the subjects, and keeps the window in which that was.
func (x *trial) measure(ctx context.Context) (err error) {
	m := measurement{account: x.account, subjects: x.actors.measured(), edge: func(int64) {}}
	if x.observer.sampler != nil {
		m.edge = x.observer.edge
	}
	switch {
	case x.turns != nil: // clocks are compared before and after: a frozen agent does not answer
		m.during = x.turns.take
		defer func() { err = errors.Join(err, x.turns.err) }()
	case x.observer.sampler != nil:
		m.during = func(ctx context.Context, opened <-chan struct{}) {
			x.actors.probeDuring(ctx, opened, x.scene.Timing.Measure)
		}
	}
	x.account.outcome.Window, err = m.run(ctx)
	return err
}

// close ends every actor, the last started first, whatever state it is in and
// whether or not the run has been cancelled. Their directories go last: that may hang.
func (x *trial) close() error {
	limit := closeDeadline + time.Duration(len(x.actors)-1)*closeEach
	ctx, cancel := context.WithTimeoutCause(context.Background(), limit, fmt.Errorf("not closed after %v", limit))
	defer cancel()
	errs := []error{x.observer.stop(), x.startUp.close()}
	if x.turns != nil {
		errs = append(errs, x.turns.thaw())
	}
	for i := len(x.actors) - 1; i >= 0; i-- {
		errs = append(errs, x.actors[i].close(ctx))
	}
	if x.pool != nil {
		errs = append(errs, x.pool.group.Close(ctx))
	}
	if x.turns != nil {
		errs = append(errs, x.turns.close(ctx))
	}
	if x.restore != nil {
		if err := x.restore(); err != nil {
			errs = append(errs, fmt.Errorf("put the host's conditions back: %w", err))
		}
		x.restore = nil
	}
	return errors.Join(append(errs, x.session.dirs.remove(x.account.outcome.Trial, x.actors...))...)
}

// noteHeldUp warns of every actor that was held up by printing faster than is read.
func (x *trial) noteHeldUp() {
	for _, a := range x.actors {
		if p, ok := a.instance.(bench.Printing); ok && p.HeldUp() {
			x.account.warn("%s was held up: on a console, or through its runtime, it printed as fast as is read at most", a.Name)
		}
	}
}

// fate is the status of a trial that came to an error; began says that a neighbour was at work.
// That a program ends of its own accord is its neighbour's doing where that means harm, or where the
// same scene without it shows how the program does alone.
func fate(ctx context.Context, s *bench.Scene, o *bench.Outcome, began bool, err error) bench.Status {
	switch w := o.Watch; {
	case ctx.Err() != nil:
		return bench.Aborted
	case errors.Is(err, errApart), errors.Is(err, errStill):
		return bench.Failed // whoever has finished; it is the measurement that is none
	case starved(o.Pool):
		return bench.DidNotFinish
	case !began || !errors.As(err, new(*unfinished)):
		return bench.Failed
	case w != nil && w.Overdue:
		return bench.Overdue
	case w == nil && s.Relative == nil && errors.As(err, new(*ownEnd)) && !errors.Is(err, moreMemory):
		return bench.Failed
	}
	return bench.DidNotFinish
}
