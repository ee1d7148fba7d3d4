package launch

import (
	"context"
	"errors"
	"slices"
	"time"

	"tare/internal/bench"
)

// Undo takes back what was made, the last first.
type Undo struct {
	steps []func(context.Context) error
}

// Add remembers how to take back the next thing that will be made.
func (u *Undo) Add(step func(context.Context) error) { u.steps = append(u.steps, step) }

// Register enters the thing in the ledger before it is made. When it is taken
// back, remove is called, and if that succeeds the thing is released.
func (u *Undo) Register(l bench.Ledger, kind, name string, remove func(context.Context) error) error {
	if err := l.Register(kind, name); err != nil {
		return err
	}
	u.Add(func(ctx context.Context) error {
		if err := remove(ctx); err != nil {
			return err
		}
		return l.Release(kind, name)
	})
	return nil
}

// Run takes everything back, also after failures, which it returns. Running it
// again does nothing.
func (u *Undo) Run(ctx context.Context) error {
	steps := u.steps
	u.steps = nil
	var errs []error
	for _, step := range slices.Backward(steps) {
		errs = append(errs, step(ctx))
	}
	return errors.Join(errs...)
}

// failWithin bounds taking back after a failure.
const failWithin = time.Minute

// Fail takes everything back because of err, also if ctx is done, and returns
// err with what went wrong meanwhile.
func (u *Undo) Fail(ctx context.Context, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), failWithin)
	defer cancel()
	return errors.Join(err, u.Run(ctx))
}
