package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"tare/internal/bench"
	"tare/internal/tool"
	"tare/internal/tree"
)

// What hangs in the kernel, such as on a disk that does not answer, heeds no deadline
// of a driver's. It is given up when these are over as well.
const (
	// startGrace is what a driver may take, after the deadline of a launch, to take
	// back what it has made.
	startGrace = 90 * time.Second
	// closeGrace is what it may wait, after that of a close, for processes it has killed.
	closeGrace = 30 * time.Second
	// makeDeadline bounds the making of a trial's directories.
	makeDeadline = 30 * time.Second
)

// silentDisk is what to do where it is a disk that a trial waits for.
const silentDisk = bench.Hint("its disk does not answer: see dmesg, and whether the file system is frozen (fsfreeze --unfreeze); " +
	"when it answers again, tare clean removes what is left and tare resume goes on")

// makeDirs makes the directories of the trial's launches.
func (x *trial) makeDirs(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, makeDeadline, tool.Late(makeDeadline))
	defer cancel()
	err := tool.Call(ctx, time.Second, func(context.Context) error {
		for _, a := range x.actors {
			if err := os.MkdirAll(a.dir, 0o700); err != nil {
				return fmt.Errorf("make directory of %s: %w", a.Name, err)
			}
		}
		return nil
	})
	if errors.Is(err, tool.ErrLate) {
		return fmt.Errorf("%wmake directories in %s: %w", silentDisk, x.Dir, err)
	}
	return err
}

// start has the engine start an instance. One that comes up after it was given up is
// closed again.
func start(ctx context.Context, e bench.Engine, l bench.Launch) (bench.Instance, error) {
	type started struct {
		instance bench.Instance
		err      error
	}
	up := make(chan started, 1)
	err := tool.Call(ctx, startGrace, func(ctx context.Context) error {
		i, err := e.Start(ctx, l)
		up <- started{i, err}
		return nil
	})
	if err != nil {
		go func() {
			if late := <-up; late.err == nil {
				_ = closeWithin(context.Background(), late.instance) // what it leaves is in the ledger
			}
		}()
		return nil, err
	}
	s := <-up
	return s.instance, s.err
}

func closeWithin(ctx context.Context, i bench.Instance) error {
	ctx, cancel := context.WithTimeoutCause(ctx, closeDeadline, fmt.Errorf("not closed after %v", closeDeadline))
	defer cancel()
	return tool.Call(ctx, closeGrace, i.Close)
}

// close ends every actor, the last started first, whatever state it is in and
// whether or not the run has been cancelled. Their directories go last: that may hang.
func (x *trial) close() error {
	limit := closeDeadline + time.Duration(len(x.actors)-1)*closeEach
	ctx, cancel := context.WithTimeoutCause(context.Background(), limit, fmt.Errorf("not closed after %v", limit))
	defer cancel()
	errs := []error{x.stopSampler()}
	if x.events != nil {
		errs = append(errs, x.events.Close())
	}
	for i := len(x.actors) - 1; i >= 0; i-- {
		errs = append(errs, x.actors[i].close(ctx))
	}
	if x.pool != nil {
		errs = append(errs, x.pool.cage.Close(ctx))
	}
	if x.restore != nil {
		if err := x.restore(); err != nil {
			errs = append(errs, fmt.Errorf("put the host's conditions back: %w", err))
		}
		x.restore = nil
	}
	return errors.Join(append(errs, x.removeDirs(x.actors...))...)
}

// end ends one actor before the others.
func (x *trial) end(a *actor) error {
	return errors.Join(a.close(context.Background()), x.removeDirs(a))
}

// close ends the actor.
func (a *actor) close(ctx context.Context) error {
	var errs []error
	if a.client != nil {
		// The instance is closed right after, so an agent that does not answer does not matter.
		_ = a.client.Close()
	}
	if a.instance != nil {
		if err := closeWithin(ctx, a.instance); err != nil {
			errs = append(errs, fmt.Errorf("close %s on %s: %w", a.Name, a.Platform, err))
		}
	}
	if a.cage != nil {
		errs = append(errs, a.cage.Close(ctx))
	}
	return errors.Join(errs...)
}

// log is the last that the instance's platform has printed.
func (a *actor) log() string {
	ctx, cancel := context.WithTimeoutCause(context.Background(), answerDeadline, tool.Late(answerDeadline))
	defer cancel()
	said := make(chan string, 1)
	if err := tool.Call(ctx, 0, func(context.Context) error { said <- a.instance.Log(); return nil }); err != nil {
		return fmt.Sprintf("what the platform printed cannot be read: %v", err)
	}
	return <-said
}

// removeDirs removes the actors' directories. Those on a disk that does not answer are
// tried again before the next trial.
func (x *trial) removeDirs(actors ...*actor) error {
	var dirs []string
	for _, a := range actors {
		dirs = append(dirs, a.dir)
	}
	err := x.remove(dirs)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, tool.ErrLate):
		x.left = append(x.left, dirs...)
		err = fmt.Errorf("%w%w", silentDisk, err)
	}
	return fmt.Errorf("remove directories of trial %s: %w", x.trial.ID, err)
}

func (r *Runner) remove(dirs []string) error {
	if r.Remove != nil {
		return r.Remove(context.Background(), dirs...)
	}
	var errs []error
	for _, dir := range dirs {
		errs = append(errs, tree.Remove(dir))
	}
	return errors.Join(errs...)
}

// clear removes what earlier trials could not. On a disk that still does not answer
// no trial can begin.
func (r *Runner) clear() error {
	if len(r.left) == 0 {
		return nil
	}
	if err := r.remove(r.left); errors.Is(err, tool.ErrLate) {
		return fmt.Errorf("%wthe disk of %s does not answer: %w", silentDisk, r.Dir, err)
	}
	r.left = nil // or it cannot be removed for another reason, which the end of the run will meet as well
	return nil
}
