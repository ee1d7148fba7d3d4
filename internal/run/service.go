package run

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"tare/internal/bench"
)

// start starts an actor's program and leaves it running.
func (j *jobs) start(ctx context.Context, a *actor) (err error) {
	if a.main, err = a.client.Start(ctx, a.part.Main, nil); err != nil {
		return fmt.Errorf("start %s in %s: %w", a.Workload, a.Name, err)
	}
	a.outcome.Command = a.part.Main.Argv
	return nil
}

// listens waits until a service accepts connections, if it says where.
func (j *jobs) listens(ctx context.Context, a *actor) error {
	if a.part.Listen == 0 || !a.addr.IsValid() || j.network == nil {
		return nil
	}
	target := netip.AddrPortFrom(a.addr, uint16(a.part.Listen)).String()
	limit := a.part.Ready
	if limit == 0 {
		limit = listenDeadline
	}
	deadline := time.Now().Add(limit)
	for {
		var conn net.Conn
		err := j.network.Do(func() (err error) {
			conn, err = net.DialTimeout("tcp", target, time.Second)
			return err
		})
		if err == nil {
			return conn.Close()
		}
		if ctx.Err() != nil {
			return fmt.Errorf("wait for %s in %s to accept on %s: %w", a.Workload, a.Name, target, context.Cause(ctx))
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%v in %s does not accept within %v: %w%w", a.part.Main.Argv, a.Name, limit, err,
				bench.Hint("it must listen on all addresses, and not on 127.0.0.1 alone"))
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// serviceEnded is the end of a service that a subject is or needs, before the measurement's.
type serviceEnded struct{ error }

func (e *serviceEnded) Unwrap() error { return e.error }

// attend ends the trial if a service comes to its end before the trial does.
func (j *jobs) attend(ctx context.Context, a *actor) {
	main, began := a.main, time.Now()
	go func() { // ends with ctx, which is the trial's steps
		out, err := main.Wait(ctx)
		if ctx.Err() != nil {
			return
		}
		hint := ""
		if err == nil && out.Exit == 0 && out.Signal == "" {
			hint = "a service is to run in the foreground: an option of the program says so"
		}
		how := fmt.Errorf("%v in %s ended %s", a.part.Main.Argv, a.Name, howEnded(began, out, err))
		if hint != "" {
			how = fmt.Errorf("%w%w", how, bench.Hint(hint))
		}
		j.beside.halt(&serviceEnded{ofItself(out, how)})
	}()
}

// noticed is how long the end of a service may take to be known after its client has failed for it.
const noticed = 200 * time.Millisecond

// blame adds to a failure that a service had ended: its client may have failed first.
func (j *jobs) blame(ctx context.Context, err error) error {
	if err == nil || !slices.ContainsFunc(j.actors, j.actors.attended) || errors.As(err, new(*serviceEnded)) {
		return err
	}
	select {
	case <-ctx.Done():
	case <-time.After(noticed):
	}
	if e := new(serviceEnded); errors.As(context.Cause(ctx), &e) {
		return fmt.Errorf("%w: %w", e, err)
	}
	return err
}
