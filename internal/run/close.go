package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tare/internal/bench"
	"tare/internal/host/tool"
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

func closeWithin(ctx context.Context, i bench.Instance) error {
	ctx, cancel := context.WithTimeoutCause(ctx, closeDeadline, fmt.Errorf("not closed after %v", closeDeadline))
	defer cancel()
	return tool.Call(ctx, closeGrace, i.Close)
}

// close ends the actor.
func (a *actor) close(ctx context.Context) error {
	var errs []error
	if a.forget != nil {
		a.forget()
	}
	if a.client != nil {
		// The instance is closed right after, so an agent that does not answer does not matter.
		_ = a.client.Close()
	}
	if a.instance != nil {
		if err := closeWithin(ctx, a.instance); err != nil {
			errs = append(errs, fmt.Errorf("close %s on %s: %w", a.Name, a.Platform, err))
		}
	}
	if a.contained != nil {
		errs = append(errs, a.contained.Close(ctx))
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
