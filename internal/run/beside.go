package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"tare/internal/bench"
	"tare/internal/outercage"
)

// beside is what disturbs the subjects of a trial while they are measured.
type beside struct {
	halt  context.CancelCauseFunc // ends the trial's steps
	began bool                    // a neighbour is at work
	watch *outercage.Watch        // over the cages; nil if there are none
	loops sync.WaitGroup          // that follow the neighbours' programs or start them again and again
	work  context.Context         // theirs
	end   context.CancelFunc      // of work; nil before it began and after it was released
}

// unfinished is the failure of a subject beside a neighbour.
type unfinished struct{ error }

func (u *unfinished) Unwrap() error { return u.error }

// hostSuffered ends a trial for the host's sake, or because its time is over.
type hostSuffered struct{ why string }

func (h *hostSuffered) Error() string {
	if h.why == "" {
		return "the subject was not through when the time of the neighbour's cage was over"
	}
	return "the scene was ended for the host's sake: " + h.why
}

// subjectFailed marks what became of a subject beside a neighbour, with the
// reason why the trial was ended, if it was.
func (x *trial) subjectFailed(ctx context.Context, err error) error {
	if h := new(hostSuffered); errors.As(context.Cause(ctx), &h) && !errors.As(err, new(*hostSuffered)) {
		err = fmt.Errorf("%w: %w", h, err)
	}
	return &unfinished{err}
}

// disturbs reports whether an actor is a neighbour or a part of one's workload.
func (x *trial) disturbs(a *actor) bool {
	if a.Serves != "" {
		i := slices.IndexFunc(x.actors, func(b *actor) bool { return b.Name == a.Serves })
		return i >= 0 && x.actors[i].Role == bench.Neighbour
	}
	return a.Role == bench.Neighbour
}

// inOrder are the actors as they are made ready: first all that the subjects
// need, then what serves the neighbours, then the neighbours, and the parts
// that do harm last.
func (x *trial) inOrder() []*actor {
	rank := func(a *actor) int {
		switch w, adversary := x.Workloads[a.Workload].(bench.Adversary); {
		case !x.disturbs(a):
			return 0
		case adversary && w.Attacks(a.Part):
			return 3
		case a.Role == bench.Neighbour:
			return 2
		}
		return 1
	}
	order := slices.Clone(x.actors)
	slices.SortStableFunc(order, func(a, b *actor) int { return cmp.Compare(rank(a), rank(b)) })
	return order
}

// planAnew is the hint where a plan is none that tare makes.
const planAnew = bench.Hint("tare plans a cage for all that means harm: run the specification anew")

// cages makes the outer cages of a scene. Whatever the plan says, what means
// harm has one, and one that bounds it.
func (x *trial) cages() error {
	for _, a := range x.actors {
		if w := x.Workloads[a.Workload]; a.Cage == nil && w != nil && bench.IsAdversary(w) {
			return fmt.Errorf("%s runs %s, which means harm, and the plan has no outer cage for it: %w%w", a.Name, a.Workload, bench.ErrInvalid, planAnew)
		}
		if a.Cage == nil {
			continue
		}
		if a.Cage.Pids <= 0 || a.Cage.Memory <= 0 {
			return fmt.Errorf("the outer cage of %s bounds nothing: %d tasks, %d bytes of memory: %w%w", a.Name, a.Cage.Pids, a.Cage.Memory, bench.ErrInvalid, planAnew)
		}
		if x.Guard == nil {
			return fmt.Errorf("%s needs an outer cage, and nothing here can make one: %w", a.Name, bench.ErrUnavailable)
		}
		var err error
		if a.cage, err = x.Guard.Cage("cage-"+a.id, *a.Cage); err != nil {
			return err
		}
	}
	return nil
}

// around names the control group that an actor's own is made in: its cage, or
// the scene's pool of memory; "" for none.
func (x *trial) around(a *actor) string {
	switch {
	case a.cage != nil:
		return "cage-" + a.id
	case x.scene.MemoryPool > 0 && a.Role != bench.Peer:
		return x.poolName()
	}
	return ""
}

// unleash is called before a neighbour begins: from then on the host is
// watched, if there is a cage, and a subject that fails is one that did not finish.
func (x *trial) unleash(ctx context.Context) error {
	b := &x.beside
	if b.began {
		return nil
	}
	var cages []*outercage.Cage
	after := time.Duration(0)
	for _, a := range x.actors {
		if a.cage != nil {
			cages, after = append(cages, a.cage), max(after, a.Cage.Time)
		}
	}
	if len(cages) > 0 {
		w, err := x.Guard.Watch(ctx, cages, after)
		if err != nil {
			return err
		}
		b.watch = w
		go func() {
			select {
			case why := <-w.Ended():
				b.halt(&hostSuffered{why})
			case <-ctx.Done():
			}
		}()
	}
	b.work, b.end = context.WithCancel(ctx)
	b.began = true
	return nil
}

// releaseWithin bounds the end of what disturbs.
const releaseWithin = 30 * time.Second

// release ends the neighbours that run in cages or over and over. It may be called again.
func (x *trial) release() error {
	b := &x.beside
	if b.end == nil {
		return nil
	}
	b.end()
	b.end = nil
	b.loops.Wait()
	if b.watch == nil {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), releaseWithin, fmt.Errorf("no end after %v", releaseWithin))
	defer cancel()
	fared, err := b.watch.Release(ctx)
	x.outcome.Watch = &fared
	if err != nil {
		return fmt.Errorf("end what means harm: %w", err)
	}
	return nil
}

// follow waits beside the trial for the end of a neighbour's service, which is
// a finding if it comes before the trial's.
func (x *trial) follow(a *actor) {
	main, began := a.main, time.Now()
	x.beside.loops.Go(func() {
		out, err := main.Wait(x.beside.work)
		if x.beside.work.Err() == nil {
			a.ended(began, out, err)
		}
	})
}

// repeat runs a neighbour's program over and over.
func (x *trial) repeat(a *actor) {
	a.outcome.Command = a.part.Main.Argv
	began := time.Now()
	x.beside.loops.Go(func() {
		for {
			out, err := a.client.Exec(x.beside.work, a.part.Main)
			if x.beside.work.Err() != nil {
				return
			}
			if err != nil || checkExit("", a.part.Main, out, a.part.OKExit) != nil {
				a.ended(began, out, err)
				return
			}
		}
	})
}

// ended notes how a neighbour came to its end. Only its own loop calls it.
func (a *actor) ended(began time.Time, out bench.Output, err error) {
	how := ""
	switch {
	case err != nil:
		how = err.Error()
	case out.Signal != "":
		how = "ended by signal " + out.Signal
	default:
		how = fmt.Sprintf("exit status %d: %s", out.Exit, tail(out, 200))
	}
	a.outcome.Ended = fmt.Sprintf("%.1f s after it began: %s", time.Since(began).Seconds(), how)
}
