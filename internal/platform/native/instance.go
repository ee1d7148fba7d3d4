package native

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"slices"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
	"tare/internal/platform/launch"
)

// instance is a native process in namespaces and the agent it became.
type instance struct {
	launch     bench.Launch
	group      *cgroup.Group
	process    *launch.Process
	log        string // the file with its standard error
	addr       netip.Addr
	command    []string
	unenforced []string
	undo       launch.Undo
}

func (i *instance) Stream() io.ReadWriteCloser { return i.process.Stream() }
func (i *instance) Launched() int64            { return i.process.Launched() }
func (i *instance) Trace() []bench.Span        { return i.process.Trace() }
func (i *instance) Command() []string          { return slices.Clone(i.command) }
func (i *instance) Addr() netip.Addr           { return i.addr }
func (i *instance) Unenforced() []string       { return slices.Clone(i.unenforced) }
func (i *instance) HeldUp() bool               { return i.process.HeldUp() }

// Log is the last that they wrote to their standard error.
func (i *instance) Log() string {
	if i.process.Running() {
		return launch.Tail(i.log)
	}
	return "the agent ended: " + i.process.State() + "\n" + launch.Tail(i.log)
}

// Scope is the cgroup alone: nothing serves a process of the host but its kernel.
func (i *instance) Scope() (bench.Scope, error) {
	return bench.Scope{Cgroups: i.group.Dirs(), NetNS: i.launch.NetNS}, nil
}

// Close kills everything inside and removes the cgroup; the mounts go with the
// last process.
func (i *instance) Close(ctx context.Context) error {
	if err := i.undo.Run(ctx); err != nil {
		return fmt.Errorf("close %s: %w", i.launch.ID, err)
	}
	return nil
}

// end kills all processes at once: nothing inside is worth a goodbye. The
// first one is killed by itself too, for it may not have joined the cgroup.
func (i *instance) end(ctx context.Context) error {
	if err := i.group.Kill(ctx); err != nil {
		return err
	}
	return i.process.Stop(ctx, 0)
}
