package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
)

// box is one program and all it started. It implements [bench.Instance].
type box struct {
	id         string
	log        string // the file with its standard error
	argv       []string
	addr       netip.Addr
	port       bench.Port // with net=veth
	group      *cgroup.Group
	unenforced []string
	process    *Process
	stream     io.ReadWriteCloser
	undo       Undo
}

func (i *box) Stream() io.ReadWriteCloser { return i.stream }
func (i *box) Launched() int64            { return i.process.Launched() }
func (i *box) Trace() []bench.Span        { return i.process.Trace() }
func (i *box) Command() []string          { return slices.Clone(i.argv) }
func (i *box) Addr() netip.Addr           { return i.addr }
func (i *box) Unenforced() []string       { return slices.Clone(i.unenforced) }
func (i *box) HeldUp() bool               { return i.process.HeldUp() }

// Scope is the cgroup, which also holds the program itself.
func (i *box) Scope() (bench.Scope, error) {
	if !i.process.Running() {
		return bench.Scope{}, fmt.Errorf("scope of %s: %s ended: %s", i.id, i.argv[0], i.process.State())
	}
	s := bench.Scope{Cgroups: i.group.Dirs(), Helpers: []bench.Process{{PID: i.process.PID(), Part: "monitor", Inside: true}}}
	if i.port.NetNS != "" {
		s.NetDevs, s.NetNS = []string{i.port.Device}, i.port.NetNS
	}
	return s, nil
}

// Log is the last that the program wrote to its standard error.
func (i *box) Log() string {
	if i.process.Running() {
		return Tail(i.log)
	}
	return i.argv[0] + " ended: " + i.process.State() + "\n" + Tail(i.log)
}

// Close kills everything inside; mounts and network go with the last process.
func (i *box) Close(ctx context.Context) error {
	if err := i.undo.Run(ctx); err != nil {
		return fmt.Errorf("close %s: %w", i.id, err)
	}
	return nil
}

// end kills all processes at once: nothing inside is worth a goodbye.
func (i *box) end(ctx context.Context) error {
	if i.process == nil {
		return nil
	}
	if i.stream != nil {
		_ = i.stream.Close() // by now its user may have closed it
	}
	return errors.Join(i.group.Kill(ctx), i.process.Stop(ctx, 0))
}
