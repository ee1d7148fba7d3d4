package uml

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"

	"tare/internal/bench"
	"tare/internal/guest/serial"
	"tare/internal/host/cgroup"
	"tare/internal/platform/launch"
)

// instance is one kernel and the processes that run its programs.
type instance struct {
	id         string
	log        string // the file with the console and UML's own messages
	argv       []string
	addr       netip.Addr
	tap        string
	group      *cgroup.Group
	unenforced []string
	process    *launch.Process
	stream     *serial.Host
	undo       launch.Undo
}

func (i *instance) Stream() io.ReadWriteCloser { return i.stream }
func (i *instance) Launched() int64            { return i.process.Launched() }
func (i *instance) Trace() []bench.Span        { return i.process.Trace() }
func (i *instance) Command() []string          { return slices.Clone(i.argv) }
func (i *instance) Addr() netip.Addr           { return i.addr }
func (i *instance) HeldUp() bool               { return i.process.HeldUp() }
func (i *instance) Unenforced() []string       { return slices.Clone(i.unenforced) }

// Scope names the kernel's process. The processes that run the guest's programs come
// and go; all are in the control group.
func (i *instance) Scope() (bench.Scope, error) {
	if !i.process.Running() {
		return bench.Scope{}, fmt.Errorf("scope of %s: the kernel ended: %s", i.id, i.process.State())
	}
	return bench.Scope{
		OwnKernel: true, Cgroups: i.group.Dirs(), NetDevs: []string{i.tap},
		Helpers: []bench.Process{{PID: i.process.PID(), Part: "kernel"}},
	}, nil
}

// Log is the end of the guest's console.
func (i *instance) Log() string {
	if i.process.Running() {
		return launch.Tail(i.log)
	}
	return program + " ended: " + i.process.State() + "\n" + launch.Tail(i.log)
}

// Close ends the kernel; its memory goes with it, the caller removes its disks.
func (i *instance) Close(ctx context.Context) error {
	if err := i.undo.Run(ctx); err != nil {
		return fmt.Errorf("close %s: %w", i.id, err)
	}
	return nil
}

// end kills the kernel, the first process of its PID namespace: all others end
// with it at once. Nothing the guest holds is worth keeping.
func (i *instance) end(ctx context.Context) error {
	if i.process == nil {
		return nil
	}
	// Its stream is closed with it; a write that waits for the guest must end as well.
	return errors.Join(i.stream.Close(), i.process.Kill(), i.group.Kill(ctx))
}
