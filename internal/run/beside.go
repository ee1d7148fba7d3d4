package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"tare/internal/bench"
	"tare/internal/host/clock"
	"tare/internal/run/containment"
)

// beside is what disturbs the subjects of a trial while they are measured.
type beside struct {
	guard   *containment.Guard // nil where nothing can contain
	actors  cast
	account *account

	halt  context.CancelCauseFunc // ends the trial's steps
	began bool                    // a neighbour is at work
	watch *containment.Watch      // over the containments; nil if there are none
	loops sync.WaitGroup          // that follow the neighbours' programs or start them again and again
	work  context.Context         // theirs
	end   context.CancelFunc      // of work; nil before it began and after it was released
}

// unfinished is the failure of a subject beside a neighbour.
type unfinished struct{ error }

func (u *unfinished) Unwrap() error { return u.error }

// hostStarved ends a trial for the host's sake, or because its time is over.
type hostStarved struct{ why string }

func (h *hostStarved) Error() string {
	if h.why == "" {
		return "the subject had not finished when the neighbour's time limit expired"
	}
	return "the scene was ended for the host's sake: " + h.why
}

// subjectFailed marks what became of a subject beside a neighbour, with the
// reason why the trial was ended, if it was.
func subjectFailed(ctx context.Context, err error) error {
	if h := new(hostStarved); errors.As(context.Cause(ctx), &h) && !errors.As(err, new(*hostStarved)) {
		err = fmt.Errorf("%w: %w", h, err)
	}
	return &unfinished{err}
}

// planAnew is the hint where a plan is none that tare makes.
const planAnew = bench.Hint("tare plans a containment for every adversary: run the specification anew")

// contain makes the containments of a scene. Whatever the plan says, what means
// harm has one, and one that bounds it.
func (b *beside) contain(workloads map[string]bench.Workload) error {
	for _, a := range b.actors {
		if w := workloads[a.Workload]; a.Containment == nil && w != nil && bench.IsAdversary(w) {
			return fmt.Errorf("%s runs %s, which is adversarial, and the plan has no containment for it: %w%w", a.Name, a.Workload, bench.ErrInvalid, planAnew)
		}
		if a.Containment == nil {
			continue
		}
		if a.Containment.Pids <= 0 || a.Containment.Memory <= 0 {
			return fmt.Errorf("the containment of %s bounds nothing: %d tasks, %d bytes of memory: %w%w", a.Name, a.Containment.Pids, a.Containment.Memory, bench.ErrInvalid, planAnew)
		}
		if b.guard == nil {
			return fmt.Errorf("%s needs a containment, and nothing here can make one: %w", a.Name, bench.ErrUnavailable)
		}
		a.around = "contain-" + a.id
		var err error
		if a.contained, err = b.guard.Contain(a.around, *a.Containment); err != nil {
			return err
		}
	}
	return nil
}

// unleash is called before a neighbour begins: from then on the host is
// watched, if there is a containment, and a subject that fails is one that did not finish.
func (b *beside) unleash(ctx context.Context) error {
	if b.began {
		return nil
	}
	var containments []*containment.Group
	after := time.Duration(0)
	for _, a := range b.actors {
		if a.contained != nil {
			containments, after = append(containments, a.contained), max(after, a.Containment.Time)
		}
	}
	if len(containments) > 0 {
		w, err := b.guard.Watch(ctx, containments, after)
		if err != nil {
			return err
		}
		b.watch = w
		go func() {
			select {
			case why := <-w.Ended():
				b.halt(&hostStarved{why})
			case <-ctx.Done():
			}
		}()
	}
	b.work, b.end = context.WithCancel(ctx)
	b.began = true
	return nil
}

// begin begins to watch over the containments, if there are any.
func (b *beside) begin(ctx context.Context) error {
	if slices.ContainsFunc(b.actors, func(a *actor) bool { return a.contained != nil }) {
		if err := b.unleash(ctx); err != nil { // a subject in a containment is watched, too
			return err
		}
	}
	if b.watch == nil {
		return nil
	}
	return b.watch.Begin()
}

// releaseWithin bounds the end of what disturbs.
const releaseWithin = 30 * time.Second

// release ends the neighbours that run in containments or over and over. It may be called again.
func (b *beside) release() error {
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
	b.account.outcome.Watch = &fared
	if err != nil {
		return fmt.Errorf("end the adversary: %w", err)
	}
	return nil
}

// follow waits beside the trial for the end of a neighbour's service, which is
// a finding if it comes before the trial's.
func (b *beside) follow(a *actor) {
	main, began := a.main, time.Now()
	b.loops.Go(func() {
		out, err := main.Wait(b.work)
		if b.work.Err() == nil {
			b.ended(a, began, out, err)
		}
	})
}

// repeat runs a neighbour's program over and over.
func (b *beside) repeat(a *actor) {
	a.outcome.Command = a.part.Main.Argv
	began := time.Now()
	b.loops.Go(func() {
		for {
			out, err := a.client.Exec(b.work, a.part.Main)
			if b.work.Err() != nil {
				return
			}
			if err != nil || checkExit("", a.part.Main, out, a.part.OKExit) != nil {
				b.ended(a, began, out, err)
				return
			}
		}
	})
}

// ended keeps when and how a neighbour's program came to its end, and which limit of its own that was.
func (b *beside) ended(a *actor, began time.Time, out bench.Output, err error) {
	a.outcome.EndedAt, a.outcome.Ended = clock.Now(), howEnded(began, out, err)
	a.outcome.EndedBy = limitSaid(out, err)
	if a.outOfMemory() > 0 || killedInside(b.work, a) > 0 {
		a.outcome.EndedBy = bench.OwnMemory
	}
}

// ownLimits are what a program says that comes to one, in the words of the C library.
var ownLimits = []struct{ words, limit string }{
	{"No space left on device", bench.OwnDisk},
	{"Disk quota exceeded", bench.OwnDisk},
	{"Resource temporarily unavailable", bench.OwnTasks},
	{"Cannot allocate memory", bench.OwnMemory},
	{"Out of memory", bench.OwnMemory},
}

// limitSaid is the limit that a program named with its last words; "" for none.
func limitSaid(out bench.Output, err error) string {
	said := tail(out, 600)
	if err != nil {
		said += err.Error()
	}
	for _, l := range ownLimits {
		if strings.Contains(said, l.words) {
			return l.limit
		}
	}
	return ""
}

// howEnded says how a neighbour that began then came to its end.
func howEnded(began time.Time, out bench.Output, err error) string {
	how := ""
	switch {
	case err != nil:
		how = err.Error()
	case out.Signal != "":
		how = "ended by signal " + out.Signal
	default:
		how = fmt.Sprintf("exit status %d: %s", out.Exit, tail(out, 200))
	}
	return fmt.Sprintf("%.1f s after it began: %s", time.Since(began).Seconds(), how)
}
