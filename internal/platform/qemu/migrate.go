package qemu

import (
	"context"
	"fmt"
	"time"

	"tare/internal/bench"
	"tare/internal/host/clock"
)

// fileState is the socket that the machine's state goes over.
const fileState = "state.sock"

// How a machine is moved: as fast as a network of 10 Gbit/s, and stopped for
// QEMU's own limit at most, by its reckoning.
const (
	migrateBandwidth = 1_250_000_000 // bytes per second
	migrateDowntime  = 300           // ms
	migratePoll      = 5 * time.Millisecond
	migrateAnswer    = 30 * time.Second // for one answer of a monitor
)

// migration is what query-migrate returns (QEMU QMP reference, MigrationInfo).
type migration struct {
	Status   string  `json:"status"`
	Error    string  `json:"error-desc"`
	Downtime float64 `json:"downtime"` // ms
	RAM      struct {
		Transferred int64 `json:"transferred"`
		Remaining   int64 `json:"remaining"`
		Rounds      int   `json:"dirty-sync-count"`
	} `json:"ram"`
}

// Migrate implements [bench.Migratory]: a second QEMU is started with the same
// disks on a tap of its own, in a control group like the first one's, and
// takes over the guest's state.
func (i *instance) Migrate(ctx context.Context) (bench.Moved, error) {
	moved, err := i.migrate(ctx)
	if err != nil {
		return moved, fmt.Errorf("migrate %s: %w", i.asked.ID, err)
	}
	return moved, nil
}

func (i *instance) migrate(ctx context.Context) (moved bench.Moved, err error) {
	switch {
	case i.asked.Options[optRoot] == rootSnapshot:
		return moved, fmt.Errorf("what the guest wrote to its root is in a file that no other QEMU can open: %w%w", bench.ErrInvalid,
			bench.Hint("use the option root=qcow2 or root=raw"))
	case i.moved != nil:
		return moved, fmt.Errorf("it has moved once already: %w", bench.ErrInvalid)
	case i.asked.Host != nil:
		return moved, fmt.Errorf("it is the outer machine of a nesting: %w", bench.ErrInvalid)
	}
	d := &instance{dir: i.dir}
	i.undo.Add(d.undo.Run)
	if err := i.destination(ctx, d); err != nil {
		return moved, fmt.Errorf("start the destination: %w", err)
	}
	source := i.stream.Conn()
	release, err := i.stream.Hold(ctx, func() (bool, error) { return taken(source) })
	if err != nil {
		return moved, err
	}
	defer release()
	if moved, err = i.transfer(ctx, d); err != nil {
		return moved, err
	}
	i.moved = d
	i.stream.Turn(d.stream.Conn())
	if err := hangUp(source); err != nil {
		return moved, err
	}
	i.quit(ctx) // if it does not, Close ends it
	return moved, nil
}

// destination starts the QEMU that waits for the machine.
func (i *instance) destination(ctx context.Context, d *instance) error {
	l, m := i.asked, i.machine
	l.ID += "-in"
	m.incoming = true
	if err := i.engine.plug(l, d, &m); err != nil {
		return err
	}
	if err := i.engine.confine(l, d); err != nil {
		return err
	}
	return i.engine.launch(ctx, l, m, d)
}

// transfer moves the state and waits until the guest runs at d.
func (i *instance) transfer(ctx context.Context, d *instance) (moved bench.Moved, err error) {
	uri := map[string]any{"uri": "unix:" + fileState}
	call := func(q *qmp, command string, arguments map[string]any, result any) error {
		deadline := time.Now().Add(migrateAnswer)
		if t, ok := ctx.Deadline(); ok && t.Before(deadline) {
			deadline = t
		}
		if err := q.SetDeadline(deadline); err != nil {
			return err
		}
		if err := q.agree(); err != nil {
			return err
		}
		return q.Call(command, arguments, result)
	}
	if err := call(d.monitor, "migrate-incoming", uri, nil); err != nil {
		return moved, err
	}
	if err := call(i.monitor, "migrate-set-parameters", map[string]any{"max-bandwidth": migrateBandwidth, "downtime-limit": migrateDowntime}, nil); err != nil {
		return moved, err
	}
	moved.Began = clock.Now()
	if err := call(i.monitor, "migrate", uri, nil); err != nil {
		return moved, err
	}
	var at migration
	for at.Status != "completed" {
		if err := call(i.monitor, "query-migrate", nil, &at); err != nil {
			return moved, err
		}
		switch at.Status {
		case "failed", "cancelled":
			return moved, fmt.Errorf("%s: it is %s: %s", program, at.Status, at.Error)
		case "completed":
			continue
		}
		if err := pause(ctx); err != nil {
			return moved, fmt.Errorf("it has not converged: %s of %s still to move after %d rounds: %w", bench.Bytes(at.RAM.Remaining), i.machine.memory, at.RAM.Rounds, err)
		}
	}
	var state struct{ Running bool }
	for {
		if err := call(d.monitor, "query-status", nil, &state); err != nil {
			return moved, fmt.Errorf("destination: %w", err)
		}
		if state.Running {
			break
		}
		if err := pause(ctx); err != nil {
			return moved, fmt.Errorf("the destination does not run: %w", err)
		}
	}
	moved.Ended = clock.Now()
	moved.Downtime, moved.Bytes, moved.Rounds = at.Downtime, bench.Bytes(at.RAM.Transferred), at.RAM.Rounds
	return moved, nil
}

func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(migratePoll):
		return nil
	}
}

var _ bench.Migratory = (*instance)(nil)
