package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"tare/internal/bench"
	"tare/internal/host/tool"
	"tare/internal/host/tree"
)

// dirs are the directories of launches, on the disk under test.
type dirs struct {
	in      string
	remover func(ctx context.Context, dirs ...string) error // see [Runner]; nil: this process removes
	left    []string                                        // that are yet to be removed
}

// silentDisk is what to do where it is a disk that a trial waits for.
const silentDisk = bench.Hint("its disk does not answer: see dmesg, and whether the file system is frozen (fsfreeze --unfreeze); " +
	"when it answers again, tare clean removes what is left and tare resume goes on")

// make makes those of actors.
func (d *dirs) make(ctx context.Context, actors cast) error {
	ctx, cancel := context.WithTimeoutCause(ctx, makeDeadline, tool.Late(makeDeadline))
	defer cancel()
	err := tool.Call(ctx, time.Second, func(context.Context) error {
		for _, a := range actors {
			if err := os.MkdirAll(a.dir, 0o700); err != nil {
				return fmt.Errorf("make directory of %s: %w", a.Name, err)
			}
		}
		return nil
	})
	if errors.Is(err, tool.ErrLate) {
		return fmt.Errorf("%wmake directories in %s: %w", silentDisk, d.in, err)
	}
	return err
}

// remove removes those of actors of a trial. Those on a disk that does not answer are
// tried again before the next trial.
func (d *dirs) remove(trial string, actors ...*actor) error {
	var paths []string
	for _, a := range actors {
		paths = append(paths, a.dir)
	}
	err := d.delete(paths)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, tool.ErrLate):
		d.left = append(d.left, paths...)
		err = fmt.Errorf("%w%w", silentDisk, err)
	}
	return fmt.Errorf("remove directories of trial %s: %w", trial, err)
}

// delete removes paths, by the remover if there is one.
func (d *dirs) delete(paths []string) error {
	if d.remover != nil {
		return d.remover(context.Background(), paths...)
	}
	var errs []error
	for _, dir := range paths {
		errs = append(errs, tree.Remove(dir))
	}
	return errors.Join(errs...)
}

// clear removes what earlier trials could not. On a disk that still does not answer
// no trial can begin.
func (d *dirs) clear() error {
	if len(d.left) == 0 {
		return nil
	}
	if err := d.delete(d.left); errors.Is(err, tool.ErrLate) {
		return fmt.Errorf("%wthe disk of %s does not answer: %w", silentDisk, d.in, err)
	}
	d.left = nil // or it cannot be removed for another reason, which the end of the run will meet as well
	return nil
}
