package native

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"sync"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/cgroup"
)

// instance is one cage and the agent it became.
type instance struct {
	id         string
	group      *cgroup.Group
	ledger     bench.Ledger
	netns      string // of a peer
	addr       netip.Addr
	command    []string
	unenforced []string
	launched   int64
	said       tail
	stream     pipes
	ended      chan struct{} // closed once the process is reaped; nil if there was none
}

// pipes is the byte stream to the agent: its standard output and input.
type pipes struct{ out, in *os.File }

func (p pipes) Read(b []byte) (int, error)  { return p.out.Read(b) }
func (p pipes) Write(b []byte) (int, error) { return p.in.Write(b) }

// Close may be called again.
func (p pipes) Close() error {
	var errs []error
	for _, f := range []*os.File{p.in, p.out} {
		if f == nil {
			continue
		}
		if err := f.Close(); !errors.Is(err, os.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// connect makes the command's standard streams the instance's.
func (in *instance) connect(cmd *exec.Cmd) error {
	stdin, write, err := os.Pipe()
	if err != nil {
		return err
	}
	read, stdout, err := os.Pipe()
	if err != nil {
		return errors.Join(err, stdin.Close(), write.Close())
	}
	cmd.Stdin, cmd.Stdout = stdin, stdout
	in.stream = pipes{out: read, in: write}
	return nil
}

// started lets go of the child's ends of the streams and reaps the child.
func (in *instance) started(cmd *exec.Cmd, err error) {
	cmd.Stdin.(*os.File).Close()
	cmd.Stdout.(*os.File).Close()
	if err != nil {
		return
	}
	in.ended = make(chan struct{})
	go func() {
		_ = cmd.Wait() // its end is seen in the stream
		close(in.ended)
	}()
}

func (in *instance) Stream() io.ReadWriteCloser { return in.stream }
func (in *instance) Launched() int64            { return in.launched }
func (in *instance) Command() []string          { return slices.Clone(in.command) }
func (in *instance) Addr() netip.Addr           { return in.addr }
func (in *instance) Unenforced() []string       { return slices.Clone(in.unenforced) }

// Log is what the cage and the agent wrote to their standard error.
func (in *instance) Log() string { return in.said.String() }

// Scope is the cgroup alone: nothing serves a process of the host but its kernel.
func (in *instance) Scope() (bench.Scope, error) {
	return bench.Scope{Cgroups: maps.Clone(in.group.Dirs()), NetNS: in.netns}, nil
}

// Close kills everything inside and removes the cgroup; the mounts go with the
// last process.
func (in *instance) Close(ctx context.Context) error {
	errs := []error{in.stream.Close()}
	err := in.group.Kill(ctx)
	if err == nil && in.ended != nil {
		select {
		case <-in.ended:
		case <-ctx.Done():
			err = fmt.Errorf("wait for the agent's end: %w", ctx.Err())
		}
	}
	if err == nil {
		err = in.group.Remove()
	}
	if err == nil {
		err = errors.Join(in.ledger.Release(bench.KindProcess, in.id), in.ledger.Release(bench.KindCgroup, in.group.Name()))
	}
	if err := errors.Join(append(errs, err)...); err != nil {
		return fmt.Errorf("close native %s: %w", in.id, err)
	}
	return nil
}

// addressOf returns the first IPv4 address of a device in a network namespace;
// of any but the loopback if device is empty.
func addressOf(path, device string) (netip.Addr, error) {
	fail := func(err error) (netip.Addr, error) {
		return netip.Addr{}, fmt.Errorf("address in network namespace %s: %w", path, err)
	}
	ns, err := netns.GetFromPath(path)
	if err != nil {
		return fail(err)
	}
	defer ns.Close()
	h, err := netlink.NewHandleAt(ns)
	if err != nil {
		return fail(err)
	}
	defer h.Close()
	var link netlink.Link
	if device != "" {
		if link, err = h.LinkByName(device); err != nil {
			return fail(err)
		}
	}
	addrs, err := h.AddrList(link, unix.AF_INET)
	if err != nil {
		return fail(err)
	}
	for _, a := range addrs {
		if addr, ok := netip.AddrFromSlice(a.IP.To4()); ok && !addr.IsLoopback() {
			return addr, nil
		}
	}
	return fail(errors.New("none"))
}

// keep is how much of the last output a tail keeps, in bytes.
const keep = 4 << 10

// tail keeps the last of what is written to it.
type tail struct {
	mu   sync.Mutex
	last []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last, p...)
	if extra := len(t.last) - keep; extra > 0 {
		t.last = slices.Delete(t.last, 0, extra)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.last)
}
