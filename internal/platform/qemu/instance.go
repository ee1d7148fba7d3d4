package qemu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
	"tare/internal/platform/launch"
	"tare/internal/platform/vm"
)

// fileMessages is where QEMU's own messages go, in the instance's directory.
const fileMessages = "qemu.log"

// How long Close waits for QEMU to leave when asked, and when killed.
const (
	quitTimeout = 3 * time.Second
	killTimeout = 20 * time.Second
)

// instance is one virtual machine.
type instance struct {
	dir        string
	addr       netip.Addr
	tap        string
	argv       []string
	kernel     *vm.Kernel // nil for the image's
	group      *cgroup.Group
	unenforced []string
	launched   int64
	own        []bench.Span
	stream     launch.Wire
	watched    *launch.Watched // the stream, beside the console; nil before it is connected
	monitor    *qmp
	ports      ports

	// What it was started as, and where it has moved to, if it has.
	engine  *engine
	asked   bench.Launch
	machine machine
	moved   *instance

	cmd    *exec.Cmd
	exited chan struct{} // closed once QEMU is gone and status is set
	status string        // how QEMU ended

	undo launch.Undo
	last string // the log, once its files are gone

	log []*launch.Log // of all QEMUs there were
}

// watch reaps QEMU when it ends, and sees to it that its last words are there by then.
func (i *instance) watch(cmd *exec.Cmd, words ...*launch.Log) {
	i.cmd, i.exited = cmd, make(chan struct{})
	i.log = append(i.log, words...)
	go func() {
		_ = cmd.Wait() // the state says all
		i.status = cmd.ProcessState.String()
		for _, w := range words {
			w.Sync()
		}
		close(i.exited)
	}()
}

// gone reports whether QEMU has ended.
func (i *instance) gone() bool {
	if i.exited == nil {
		return false
	}
	select {
	case <-i.exited:
		return true
	default:
		return false
	}
}

// accept waits for QEMU to connect.
func (i *instance) accept(ctx context.Context, ln *net.UnixListener) (net.Conn, error) {
	accepted := make(chan struct{})
	defer close(accepted)
	go func() {
		select {
		case <-ctx.Done():
		case <-i.exited:
		case <-accepted:
			return
		}
		ln.Close()
	}()
	conn, err := ln.Accept()
	switch {
	case err == nil:
		return conn, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case i.gone():
		return nil, fmt.Errorf("%s ended: %s", program, i.status)
	}
	return nil, err
}

// Stream implements [bench.Instance]. It ends when QEMU does, or
// the guest's kernel has panicked.
func (i *instance) Stream() io.ReadWriteCloser { return i.watched }

// Launched implements [bench.Instance].
func (i *instance) Launched() int64 { return i.launched }

// Trace implements [bench.Traced].
func (i *instance) Trace() []bench.Span { return slices.Clone(i.own) }

// Command implements [bench.Instance]. Files without a path are in the launch's
// directory; someone must listen on the two sockets.
func (i *instance) Command() []string { return slices.Clone(i.argv) }

// Addr implements [bench.Instance].
func (i *instance) Addr() netip.Addr { return i.addr }

// Unenforced implements [bench.Instance].
func (i *instance) Unenforced() []string { return slices.Clone(i.unenforced) }

// HeldUp implements [bench.Printing].
func (i *instance) HeldUp() bool {
	return slices.ContainsFunc(i.log, (*launch.Log).HeldUp)
}

// Scope implements [bench.Instance]. The monitor is in the instance's own
// cgroup and listed as a helper besides, so that its threads can be told apart
// by their names.
func (i *instance) Scope() (bench.Scope, error) {
	if i.moved != nil {
		return i.moved.Scope()
	}
	if i.gone() {
		return bench.Scope{}, fmt.Errorf("scope: %s ended: %s", program, i.status)
	}
	pid := i.cmd.Process.Pid
	helpers := []bench.Process{{PID: pid, Part: "vmm", Threads: vm.QEMUThreads}}
	vhost, err := vhostThreads("/proc", pid)
	if err != nil {
		return bench.Scope{}, fmt.Errorf("scope: %w", err)
	}
	for _, pid := range vhost {
		helpers = append(helpers, bench.Process{PID: pid, Part: "vhost"})
	}
	scope := bench.Scope{OwnKernel: true, Cgroups: i.group.Dirs(), Helpers: helpers}
	if i.tap != "" {
		scope.NetDevs = []string{i.tap}
	}
	return scope, nil
}

// Log implements [bench.Instance]: how QEMU ended, its messages and the end of
// the guest's console.
func (i *instance) Log() string {
	if i.last != "" {
		return i.last
	}
	var parts []string
	if i.kernel != nil {
		parts = append(parts, i.kernel.String())
	}
	if i.gone() {
		parts = append(parts, program+": "+i.status)
	}
	for _, w := range i.log {
		w.Sync()
	}
	for _, name := range []string{fileMessages, fileConsole, incoming + fileMessages, incoming + fileConsole} {
		if text := strings.TrimSpace(launch.Tail(filepath.Join(i.dir, name))); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "\n")
}

// Close implements [bench.Instance].
func (i *instance) Close(ctx context.Context) error {
	if err := i.undo.Run(ctx); err != nil {
		return fmt.Errorf("close virtual machine: %w", err)
	}
	return nil
}

// removeFiles removes what the instance has in its directory; of the logs it
// keeps the end.
func (i *instance) removeFiles(context.Context) error {
	i.last = i.Log()
	i.ports.close()
	names := append(i.ports.files(), vm.ScratchFile(vm.Raw), vm.ScratchFile(vm.Qcow2), rootFile(vm.Raw), rootFile(vm.Qcow2), fileState)
	for _, name := range []string{fileAgent, fileMonitor, fileMessages, fileConsole} {
		names = append(names, name, incoming+name)
	}
	return removeFiles(i.dir, names...)
}

// stop ends QEMU: politely if there is time, by force if not. Nothing the guest
// holds is worth keeping.
func (i *instance) stop(ctx context.Context) error {
	if i.cmd == nil {
		return nil
	}
	i.stream.Close()
	if i.watched != nil {
		i.watched.Close()
	}
	if i.monitor != nil {
		i.quit(ctx)
		i.monitor.Close()
	}
	// Even when the caller's time is up the process must go.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTimeout)
	defer cancel()
	if err := i.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill %s: %w", program, err)
	}
	select {
	case <-i.exited:
	case <-ctx.Done():
		return fmt.Errorf("%s (process %d) does not end: %w", program, i.cmd.Process.Pid, ctx.Err())
	}
	return i.group.Kill(ctx)
}

// quit asks QEMU to leave and waits until it has, or for quitTimeout.
func (i *instance) quit(ctx context.Context) {
	if i.gone() || ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, quitTimeout)
	defer cancel()
	deadline, _ := ctx.Deadline()
	if i.monitor.SetDeadline(deadline) != nil {
		return
	}
	// A monitor that does not answer is killed next, so its error adds nothing.
	if i.monitor.agree() != nil || i.monitor.Execute("quit", nil) != nil {
		return
	}
	select {
	case <-i.exited:
	case <-ctx.Done():
	}
}
