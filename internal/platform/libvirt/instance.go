package libvirt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
	"tare/internal/platform/launch"
	"tare/internal/platform/vm"
)

// instance is one domain.
type instance struct {
	id, dir    string
	daemon     *daemon
	addr       netip.Addr
	tap        string
	command    []string
	group      *cgroup.Group
	unenforced []string
	launched   int64
	own        []bench.Span
	stream     *launch.Watched // the agent's port, beside the console; nil before it is connected
	console    *launch.Log
	pid        int // of QEMU; 0 before it is known
	undo       launch.Undo
	last       string // the log, once its files are gone
}

// Files of a domain.
func (m *machine) overlay() string     { return filepath.Join(m.dir, "root.qcow2") }
func (m *machine) scratch() string     { return filepath.Join(m.dir, vm.ScratchFile(m.options[optDisk])) }
func (m *machine) console() string     { return filepath.Join(m.dir, "console") } // kept in fileConsole
func (m *machine) description() string { return filepath.Join(m.dir, "domain.xml") }

// socket is where the agent's port connects to; it must be short.
func (i *instance) socket() string { return filepath.Join(i.daemon.run, vm.TapName(i.id)) }

// messages is where libvirt keeps what QEMU says.
func (i *instance) messages() string { return filepath.Join(i.daemon.dir("log"), "qemu", i.id+".log") }

// Stream implements [bench.Instance]. It ends when QEMU does, or the
// guest's kernel has panicked.
func (i *instance) Stream() io.ReadWriteCloser { return i.stream }

// Launched implements [bench.Instance].
func (i *instance) Launched() int64 { return i.launched }

// Trace implements [bench.Traced].
func (i *instance) Trace() []bench.Span { return slices.Clone(i.own) }

// Addr implements [bench.Instance].
func (i *instance) Addr() netip.Addr { return i.addr }

// Unenforced implements [bench.Instance].
func (i *instance) Unenforced() []string { return slices.Clone(i.unenforced) }

// HeldUp implements [bench.Printing].
func (i *instance) HeldUp() bool { return i.console.HeldUp() }

// Scope implements [bench.Instance]. QEMU is in the instance's own cgroup and
// listed as a helper besides, so that its threads can be told apart.
func (i *instance) Scope() (bench.Scope, error) {
	if i.gone() {
		return bench.Scope{}, fmt.Errorf("scope: QEMU of %s ended", i.id)
	}
	return bench.Scope{OwnKernel: true, Cgroups: i.group.Dirs(), NetDevs: []string{i.tap},
		Helpers: []bench.Process{{PID: i.pid, Part: "vmm", Threads: vm.QEMUThreads}},
		Shared:  []bench.Process{{PID: i.daemon.cmd.Process.Pid, Part: "daemon"}}}, nil
}

// fileConsole is what is kept of the guest's console.
const fileConsole = "console.log"

// gone reports whether QEMU has ended. It is libvirtd's child, which reaps it.
func (i *instance) gone() bool { return i.pid == 0 || errors.Is(unix.Kill(i.pid, 0), unix.ESRCH) }

// Log implements [bench.Instance]: QEMU's messages and the end of the guest's console.
func (i *instance) Log() string {
	if i.last != "" {
		return i.last
	}
	var parts []string
	for _, file := range []string{i.messages(), filepath.Join(i.dir, fileConsole)} {
		if text := strings.TrimSpace(launch.Tail(file)); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "\n")
}

// Close implements [bench.Instance].
func (i *instance) Close(ctx context.Context) error {
	if err := i.undo.Run(ctx); err != nil {
		return fmt.Errorf("close domain: %w", err)
	}
	return nil
}

// removeFiles removes what the domain has; of the logs it keeps the end.
func (i *instance) removeFiles(context.Context) error {
	i.last = i.Log()
	var errs []error
	for _, name := range []string{"root.qcow2", vm.ScratchFile(vm.Raw), vm.ScratchFile(vm.Qcow2), fileConsole, "domain.xml"} {
		errs = append(errs, os.Remove(filepath.Join(i.dir, name)))
	}
	errs = append(errs, os.Remove(i.socket()))
	for n, err := range errs {
		if errors.Is(err, fs.ErrNotExist) {
			errs[n] = nil
		}
	}
	return errors.Join(errs...)
}

// destroyWithin bounds virsh destroy, after which QEMU is killed.
const destroyWithin = 20 * time.Second

// stop ends the domain. Nothing the guest holds is worth keeping.
func (i *instance) stop(ctx context.Context) error {
	if i.stream != nil {
		i.stream.Close()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), destroyWithin)
	defer cancel()
	_, err := i.daemon.virsh(ctx, "destroy", i.id)
	if i.pid == 0 || i.gone() {
		return nil // a domain that was not created, or ended by itself, cannot be destroyed
	}
	if kerr := i.group.Kill(ctx); kerr != nil {
		return errors.Join(err, kerr)
	}
	return nil
}
