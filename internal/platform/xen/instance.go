package xen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
	"tare/internal/platform/launch"
	"tare/internal/platform/xen/xenpipe"
)

// instance is one domain.
type instance struct {
	id, dir    string
	number     int // as Xen counts domains; 0 until it is known
	created    bool
	emulated   bool // its network card is QEMU's
	argv       []string
	addr       netip.Addr
	group      *cgroup.Group // of what xl leaves running
	unenforced []string
	launched   int64
	own        []bench.Span
	pipes      map[string]*xenpipe.Pipe // by name; complete when create returns
	console    *console
	watched    *launch.Watched // the agent's pipe, beside the console; nil before there is one
	undo       launch.Undo
	last       string // the log, once its files are gone
}

// Stream implements [bench.Instance]. It ends when the domain does,
// or its kernel has panicked.
func (i *instance) Stream() io.ReadWriteCloser { return i.watched }

// Port implements [bench.Ported].
func (i *instance) Port(name string) (io.ReadWriteCloser, error) {
	if p := i.pipes[name]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("port %q: the domain was started without: %w", name, bench.ErrInvalid)
}

// ended tells everyone who reads that the domain has.
func (i *instance) ended() {
	for _, p := range i.pipes {
		p.End()
	}
}

// Launched implements [bench.Instance].
func (i *instance) Launched() int64 { return i.launched }

// Trace implements [bench.Traced]: what is done besides waiting for xl create.
func (i *instance) Trace() []bench.Span { return slices.Clone(i.own) }

// Command implements [bench.Instance]. Its file is in the launch's directory.
func (i *instance) Command() []string { return slices.Clone(i.argv) }

// Addr implements [bench.Instance].
func (i *instance) Addr() netip.Addr { return i.addr }

// Unenforced implements [bench.Instance].
func (i *instance) Unenforced() []string { return slices.Clone(i.unenforced) }

// parts are the processes that xl leaves beside a domain, and daemons those
// that serve all of them.
var (
	parts   = map[string]string{"xl": "xl", "xen-qemu-system-i386": "qemu", "qemu-system-i386": "qemu"}
	daemons = []string{"xenstored", "oxenstored", "xenconsoled"}
)

// Scope implements [bench.Instance].
func (i *instance) Scope() (bench.Scope, error) {
	helpers, err := launch.Parts(i.group, i.group, parts)
	if err != nil {
		return bench.Scope{}, fmt.Errorf("scope: %w", err)
	}
	for n := range helpers {
		helpers[n].Inside = false // the group accounts for helpers only
	}
	shared, err := processes(daemons)
	if err != nil {
		return bench.Scope{}, fmt.Errorf("scope: %w", err)
	}
	return bench.Scope{OwnKernel: true, Domain: i.number, Helpers: helpers, Shared: shared, NetDevs: []string{i.device()}}, nil
}

// logs are what xl said when it created the domain and, from the background,
// since; what QEMU said; and the guest's console until its agent began.
func (i *instance) logs() []string {
	return []string{filepath.Join(i.dir, fileMessages), filepath.Join(logDir, "xl-"+i.id+".log"),
		filepath.Join(logDir, "qemu-dm-"+i.id+".log"), filepath.Join(i.dir, fileConsole)}
}

// logDir is where xl and QEMU write on every host.
const logDir = "/var/log/xen"

// Log implements [bench.Instance].
func (i *instance) Log() string {
	if i.last != "" {
		return i.last
	}
	var said []string
	for _, file := range i.logs() {
		if text := strings.TrimSpace(launch.Tail(file)); text != "" {
			said = append(said, text)
		}
	}
	return strings.Join(said, "\n")
}

// Close implements [bench.Instance].
func (i *instance) Close(ctx context.Context) error {
	if err := i.undo.Run(ctx); err != nil {
		return fmt.Errorf("close domain: %w", err)
	}
	return nil
}

// destroy ends the domain. Nothing the guest holds is worth keeping.
func (i *instance) destroy(ctx context.Context) error {
	if i.watched != nil {
		i.watched.Close()
	}
	// First the pages it granted: Xen keeps a domain while one is mapped.
	for _, p := range i.pipes {
		p.Close()
	}
	var err error
	if i.created {
		// Without it the domain has ended, or never began.
		if _, gone := launch.Output(ctx, "xl", "domid", i.id); gone == nil {
			_, err = launch.Output(ctx, "xl", "destroy", i.id)
		}
	}
	if err = errors.Join(err, i.console.Close()); err != nil {
		return fmt.Errorf("destroy domain: %w", err)
	}
	return nil
}

// endHelpers ends what xl left running; it ends by itself soon after the domain.
func (i *instance) endHelpers(ctx context.Context) error { return i.group.Kill(ctx) }

// removeFiles removes the instance's files; of the logs it keeps the end.
func (i *instance) removeFiles(config string) error {
	i.last = i.Log()
	return removeFiles(append(i.logs(), config)...)
}
