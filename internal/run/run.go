// Package run carries out a plan: it launches the actors of each trial, warms
// up, measures while every level is sampled, and stores what became of it
// (tesfatsion2018 section 3.3). Drivers, workloads and the store are handed in.
//
// A trial has these phases, which are stored with their times:
//
//  1. setup: directories on the disk under test, an address or a peer's namespace
//  2. launch: peers, idle instances, neighbours, then subjects; each is up when its agent greets
//  3. prepare: clocks are compared a first time; meters are opened, files placed, preparing
//     commands run, services started; then what serves the neighbours begins, then the
//     neighbours; what means harm is last, under the watchdog
//  4. warmup: X; it is a run of its own, or the ramp of the measured program
//  5. measure: Y; the window opens when the last subject begins and closes when the first ends
//  6. collect: clocks are compared a last time, and samples placed by them; what cannot be true
//     is refused; programs' output is parsed into values; a missing value is an error
//  7. close, then cooldown: Z; the outcome is on disk before the next trial begins
//
// A ramp of instances goes through launch, warmup and measure once for each of its steps.
// Nothing is asked inside its instances but the first command.
package run

import (
	"context"
	"fmt"
	"iter"
	"net/netip"
	"time"

	"tare/internal/bench"
	"tare/internal/outercage"
)

// Lab is the run's network, with namespaces for peers beside it.
type Lab interface {
	bench.Lab
	// Peer returns the network namespace of a further machine, made at first
	// use, and its address.
	Peer(ctx context.Context, name string) (netns string, addr netip.Addr, err error)
}

// Engine is a platform that is open for this run.
type Engine struct {
	bench.Engine
	bench.Availability
	// Options are the platform's, with their defaults.
	Options []bench.Option
}

// Sink stores the outcome of a trial, durably, before it returns.
type Sink interface {
	Append(ctx context.Context, o *bench.Outcome, samples []bench.Sample, outputs map[string][]byte) error
}

// Runner carries out one plan.
type Runner struct {
	ID        string // of the run, prefix of every launch's id
	Plan      *bench.Plan
	Engines   map[string]Engine // by the platform's [bench.PlatformRef.Driver]
	Workloads map[string]bench.Workload
	Lab       Lab
	Sink      Sink
	AgentPath string // the agent's program on the host
	Dir       string // on the disk under test; a directory per launch is made in it
	LLC       bench.Bytes
	// Wire is how much one direction of the network under test carries, in bytes
	// per second; 0 if nothing bounds it, as between devices made of software.
	Wire     float64
	Observer []int // the CPUs the sampling thread is kept on; empty for any
	// Interval between samples.
	Interval time.Duration
	// Remove removes the directories of launches, within a deadline of its own and so that
	// this process need not wait for a disk that does not answer; its error wraps
	// tool.ErrLate then. Nil: this process removes them, and waits.
	Remove func(ctx context.Context, dirs ...string) error
	// Notify is told of progress. It must not block.
	Notify func(Event)
	// Beside, if set, starts what is to run beside a metered trial, once its
	// instances are up, and says which processes that is. Their CPU time is read
	// with the rest, by a source of its own (meter.OpenBeside). stop, if not nil,
	// ends them.
	Beside func(ctx context.Context, s *bench.Scene) (processes []bench.Process, stop func(), err error)
	// Guard keeps what means harm from the host; a scene with an outer cage
	// cannot run without it.
	Guard *outercage.Guard
	// Enough says at the end of a block whether a scene needs no further ones;
	// the trials it has left are not run then. It must depend on nothing but
	// the outcomes stored so far, so that a resumed run hears the same. Nil: never.
	Enough func(scene string, block int) (bool, error)

	// Before are the outcomes of the run until it was stopped, in order; nil for none. They
	// decide which platforms are given up, with those of its further trials.
	Before iter.Seq2[*bench.Outcome, error]

	// Power are the meters of what the machine draws, read through the whole run;
	// where there are any, the plan says how long the machine rests around a block.
	Power []bench.PowerReader
	// Mixed, if not empty, is what is otherwise than when the run began; every outcome tells it.
	Mixed []string
	// Conditions sets the host's conditions of a scene, such as a governor, and
	// returns what puts back what was there. Nil where no scene has any.
	Conditions func(wanted map[string]string) (restore func() error, err error)

	watches  []*powerWatch
	launches record
	left     []string // directories of launches that are yet to be removed
	// daemons are the processes that serve all instances of a platform, by its
	// name, as its last instance told.
	daemons map[string][]bench.Process
	// cached are the platforms that were launched since anything was last dropped
	// from the page cache.
	cached map[string]bool
}

// Event is progress, for people to watch.
type Event struct {
	Trial   bench.Trial
	Scene   *bench.Scene
	Index   int // of the trial in the plan, from 0
	Phase   string
	Outcome *bench.Outcome // set when the trial has ended
	// Ended, set alone, is a scene that needs no more than the blocks it had.
	Ended string
}

// Deadlines for what has no natural end.
const (
	// startDeadline bounds a launch. A VM under emulation on a busy machine
	// needs most of it; a dead instance is noticed at once, by its stream.
	startDeadline = 90 * time.Second
	// nestedDeadline bounds that of a nesting: two launches, and the opening of
	// the inner platform, in a guest that may be emulated.
	nestedDeadline = 5 * time.Minute
	answerDeadline = 5 * time.Second  // an agent's answer to a small question
	listenDeadline = 10 * time.Second // a service opening its port
	closeDeadline  = 30 * time.Second
	closeEach      = 5 * time.Second // more for each further actor
)

// Run executes every trial that is not finished and whose scene is not enough
// yet. It returns early when ctx is done, after closing what runs, or when an
// outcome cannot be stored. A trial that fails is recorded and the run goes on.
func (r *Runner) Run(ctx context.Context, finished map[string]bool) error {
	if err := r.recall(); err != nil {
		return err
	}
	defer r.watchPower()()
	enough := map[string]bool{}
	rested := map[int]bool{} // blocks before which the machine has rested
	for i, t := range r.Plan.Trials {
		scene := r.Plan.Scene(t.Scene)
		if scene == nil {
			return fmt.Errorf("plan: trial %s names scene %q, which is not in the plan: %w", t.ID, t.Scene, bench.ErrInvalid)
		}
		if !finished[t.ID] && !enough[scene.ID] {
			if !rested[t.Block] {
				rested[t.Block] = true
				if err := r.rest(ctx, i, t.Block, 1, finished); err != nil {
					return err
				}
			}
			if err := r.carryOut(ctx, i, t, scene); err != nil {
				return err
			}
		}
		if i+1 == len(r.Plan.Trials) || r.Plan.Trials[i+1].Block != t.Block {
			if rested[t.Block] {
				if err := r.rest(ctx, i, t.Block, 2, finished); err != nil {
					return err
				}
			}
			if err := r.look(t.Block, enough); err != nil {
				return err
			}
		}
	}
	return nil
}

// recall learns from the outcomes there are.
func (r *Runner) recall() error {
	if r.Before == nil {
		return nil
	}
	for o, err := range r.Before {
		if err != nil {
			return fmt.Errorf("what became of the trials so far: %w", err)
		}
		r.launches.learn(o)
	}
	return nil
}

// carryOut runs one trial and stores what became of it. A trial with a platform that
// is given up is stored without having been run.
func (r *Runner) carryOut(ctx context.Context, i int, t bench.Trial, scene *bench.Scene) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("run stopped before trial %s: %w", t.ID, context.Cause(ctx))
	}
	if err := r.clear(); err != nil {
		return fmt.Errorf("run stopped before trial %s: %w", t.ID, err)
	}
	x := newTrial(r, i, t, scene)
	if end, ok := r.launches.givenUp(scene); ok && !r.Plan.KeepTrying {
		x.giveUp(end)
	} else {
		x.execute(ctx)
	}
	// What was measured is kept even if ctx ended meanwhile.
	err := r.Sink.Append(context.WithoutCancel(ctx), &x.outcome, x.samples, x.outputs)
	if err != nil {
		return fmt.Errorf("store trial %s: %w", t.ID, err)
	}
	r.launches.learn(&x.outcome)
	if scene.Kind != bench.Resting {
		r.notify(Event{Trial: t, Scene: scene, Index: i, Outcome: &x.outcome})
	}
	if x.outcome.Status == bench.Aborted {
		return fmt.Errorf("run stopped in trial %s: %w", t.ID, context.Cause(ctx))
	}
	if x.outcome.GivenUp == "" {
		x.cooldown(ctx)
	}
	return nil
}

// rest measures the machine at rest before (1) or after (2) the trials of a
// block, where something measures power.
func (r *Runner) rest(ctx context.Context, i, block, n int, finished map[string]bool) error {
	t := bench.Trial{ID: bench.RestID(block, n), Block: block, Scene: bench.RestScene}
	if len(r.Power) == 0 || r.Plan.Rest <= 0 || finished[t.ID] {
		return nil
	}
	return r.carryOut(ctx, i, t, r.restScene())
}

// look asks at the end of a block which scenes need no more.
func (r *Runner) look(block int, enough map[string]bool) error {
	if r.Enough == nil {
		return nil
	}
	for _, s := range r.Plan.Scenes {
		if enough[s.ID] {
			continue
		}
		ended, err := r.Enough(s.ID, block)
		if err != nil {
			return fmt.Errorf("decide after block %d whether %s is enough: %w", block, s.ID, err)
		}
		if ended {
			enough[s.ID] = true
			r.notify(Event{Trial: bench.Trial{Block: block}, Ended: s.ID})
		}
	}
	return nil
}

func (r *Runner) notify(e Event) {
	if r.Notify != nil {
		r.Notify(e)
	}
}
