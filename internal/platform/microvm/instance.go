package microvm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
	"tare/internal/platform/launch"
)

// instance is one virtual machine.
type instance struct {
	name, id   string
	dir        string
	argv       []string
	addr       netip.Addr
	tap        string
	threads    *bench.Threads
	group      *cgroup.Group
	unenforced []string
	process    *launch.Process
	console    *launch.HeadTail // what the kernel printed
	stream     *launch.Watched  // the serial line, beside the console
	open       []io.Closer      // its streams and logs
	undo       launch.Undo
	last       string // the log, once its files are gone
}

func (i *instance) file(name string) string { return filepath.Join(i.dir, name) }

// Stream implements [bench.Instance]. It ends when the monitor does, or
// the guest's kernel has panicked.
func (i *instance) Stream() io.ReadWriteCloser { return i.stream }

// Launched implements [bench.Instance].
func (i *instance) Launched() int64 { return i.process.Launched() }

// Trace implements [bench.Traced].
func (i *instance) Trace() []bench.Span { return i.process.Trace() }

// Command implements [bench.Instance]. Files without a path are in the launch's directory.
func (i *instance) Command() []string { return slices.Clone(i.argv) }

// Addr implements [bench.Instance].
func (i *instance) Addr() netip.Addr { return i.addr }

// Unenforced implements [bench.Instance].
func (i *instance) Unenforced() []string { return slices.Clone(i.unenforced) }

// HeldUp implements [bench.Printing].
func (i *instance) HeldUp() bool { return i.process.HeldUp() }

// Scope implements [bench.Instance]. The monitor is in the instance's own cgroup
// and listed as a helper besides, so that its threads can be told apart.
func (i *instance) Scope() (bench.Scope, error) {
	if !i.process.Running() {
		return bench.Scope{}, fmt.Errorf("scope of %s: %s ended: %s", i.id, i.name, i.process.State())
	}
	return bench.Scope{
		OwnKernel: true, Cgroups: i.group.Dirs(), NetDevs: []string{i.tap},
		Helpers: []bench.Process{{PID: i.process.PID(), Part: "vmm", Threads: i.threads}},
	}, nil
}

// Log implements [bench.Instance]: how the monitor ended, the end of the guest's
// console and the monitor's messages and log.
func (i *instance) Log() string {
	if i.last != "" {
		return i.last
	}
	var parts []string
	if i.process != nil && !i.process.Running() {
		parts = append(parts, i.name+" ended: "+i.process.State())
	}
	if i.console != nil {
		i.console.Flush()
	}
	logs, err := filepath.Glob(i.file("*.log"))
	if err != nil {
		return err.Error()
	}
	for _, file := range logs {
		if text := strings.TrimSpace(launch.Tail(file)); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "\n")
}

// Close implements [bench.Instance].
func (i *instance) Close(ctx context.Context) error {
	if err := i.undo.Run(ctx); err != nil {
		return fmt.Errorf("close %s: %w", i.id, err)
	}
	return nil
}

// end kills the monitor. Nothing the guest holds is worth keeping.
func (i *instance) end(ctx context.Context) error {
	if i.process == nil {
		return nil
	}
	// With the line a write ends that waits for the guest.
	var errs []error
	for _, c := range i.open {
		errs = append(errs, c.Close())
	}
	return errors.Join(append(errs, i.process.Kill(), i.group.Kill(ctx))...)
}

// removeFiles removes what the instance has in its directory; of the logs it
// keeps the end.
func (i *instance) removeFiles(context.Context) error {
	i.last = i.Log()
	entries, err := os.ReadDir(i.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		err = errors.Join(err, os.Remove(i.file(e.Name())))
	}
	return err
}
