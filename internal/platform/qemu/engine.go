package qemu

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
	"tare/internal/host/clock"
	"tare/internal/platform/launch"
	"tare/internal/platform/vm"
)

// engine starts the instances of one run.
type engine struct {
	name    string
	accel   accel
	options []bench.Option
	env     bench.Env
	cgroups *cgroup.FS
	host    hostFiles
	kernel  string
	initrd  string
	others  *vm.Kernels // that launches name by an option
	root    string
	tsc     func() (kHz int, err error) // of the host
}

// Close implements [bench.Engine]. Nothing is shared but files of the run.
func (g *engine) Close(context.Context) error { return nil }

// Reads implements [bench.Reading].
func (g *engine) Reads() []string {
	return append([]string{g.root, g.kernel, g.initrd}, g.others.Files()...)
}

// Start implements [bench.Engine].
func (g *engine) Start(ctx context.Context, l bench.Launch) (bench.Instance, error) {
	i := &instance{dir: l.Dir}
	err := checkLaunch(g.options, l)
	if err == nil {
		err = g.start(ctx, l, i)
	}
	if err == nil {
		return i, nil
	}
	if log := i.Log(); log != "" {
		err = fmt.Errorf("%w\n%s", err, log)
	}
	return nil, fmt.Errorf("start %s %s: %w", g.name, l.ID, i.undo.Fail(ctx, err))
}

func (g *engine) start(ctx context.Context, l bench.Launch, i *instance) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m, err := g.provide(ctx, l, i)
	if err != nil {
		return err
	}
	i.engine, i.asked, i.machine = g, l, m
	if err := g.confine(l, i); err != nil {
		return err
	}
	return g.launch(ctx, l, m, i)
}

// provide makes what the machine is plugged into: its scratch disk and tap.
func (g *engine) provide(ctx context.Context, l bench.Launch, i *instance) (machine, error) {
	if err := g.host.allows(l.Options, l.Shape.Memory); err != nil {
		return machine{}, err
	}
	if l.Options[optInit] == initSystemd {
		if err := vm.Boots(ctx, g.env.Image); err != nil {
			return machine{}, err
		}
	}
	i.undo.Add(i.removeFiles)
	m := machine{
		id: l.ID, accel: g.accel, options: l.Options, cpus: l.Shape.CPUs, memory: l.Shape.Memory,
		kernel: g.kernel, initrd: g.initrd, root: g.root, own: l.Own != nil,
	}
	if l.Host != nil {
		m.host = *l.Host
	}
	if err := g.boots(ctx, l.Options[bench.KernelOption], i, &m); err != nil {
		return m, err
	}
	if m.own {
		if m.kernel, m.initrd = l.Own.Kernel.Path, ""; l.Own.Initrd != nil {
			m.initrd = l.Own.Initrd.Path
		}
		if l.Own.Disk != nil {
			m.disk = l.Own.Disk.Path
		}
	} else if err := g.disks(ctx, l); err != nil {
		return m, err
	}
	lease, err := g.env.Testnet.Allocate()
	if err != nil {
		return m, fmt.Errorf("address: %w", err)
	}
	m.mac, m.addr, m.gateway = lease.MAC, lease.Addr, lease.Gateway
	if m.own {
		m.line = l.Own.Cmdline(lease)
	} else if l.Options[optMachine] == machineMicro && !g.accel.clock {
		if m.tsc, err = g.tsc(); err != nil {
			return m, fmt.Errorf("machine=%s: %w", machineMicro, err)
		}
	}
	err = g.plug(l, i, &m)
	return m, err
}

// disks makes the disks of a machine that boots the image.
func (g *engine) disks(ctx context.Context, l bench.Launch) error {
	if err := vm.Scratch(ctx, l.Dir, l.Options[optDisk], l.Shape.Disk); err != nil {
		return err
	}
	return makeRoot(ctx, l.Dir, l.Options[optRoot], g.root)
}

// boots has the machine boot another kernel than the image's, if one is named.
func (g *engine) boots(ctx context.Context, path string, i *instance, m *machine) error {
	if path == "" {
		return nil
	}
	k, err := g.others.Get(ctx, g.env, path)
	if err != nil {
		return err
	}
	m.kernel, m.initrd, i.kernel = k.Path, k.Initrd, k
	return nil
}

// plug joins the machine to the bridge by a tap. With net=user there is nothing
// to join: the machine has no address that others could reach.
func (g *engine) plug(l bench.Launch, i *instance, m *machine) error {
	if l.Options[optNet] == netUser {
		return nil
	}
	i.addr = m.addr.Addr()
	i.tap = vm.TapName(l.ID)
	m.tap = i.tap
	if err := g.env.Testnet.Tap(i.tap); err != nil { // the ledger knows the test network it is in
		return err
	}
	i.undo.Add(func(context.Context) error { return g.env.Testnet.RemoveTap(i.tap) })
	if l.Options[optNIC] != nicVirtio {
		return nil // vhost serves a virtio card
	}
	var err error
	m.vhost, err = useVhost(l.Options[optVhost])
	return err
}

// confine makes the control group of the launch.
func (g *engine) confine(l bench.Launch, i *instance) error {
	limits, err := vm.Limits(l)
	if err != nil {
		return err
	}
	i.group, i.unenforced, err = i.undo.Group(g.env.Ledger, g.cgroups, l.Group(g.env.Run), limits)
	i.unenforced = append(i.unenforced, vm.GuestKeeps(l.Shape)...)
	return err
}

// launch starts QEMU and waits until it has connected to the agent's and the
// monitor's sockets, which it does before the guest runs.
func (g *engine) launch(ctx context.Context, l bench.Launch, m machine, i *instance) error {
	var agent *net.UnixListener // none where nothing inside would call
	if !m.own {
		var err error
		if agent, err = launch.Listen(l.Dir, m.file(fileAgent)); err != nil {
			return err
		}
		defer agent.Close()
	}
	monitor, err := launch.Listen(l.Dir, m.file(fileMonitor))
	if err != nil {
		return err
	}
	defer monitor.Close()
	if err := i.ports.make(l.Dir, m.host.Ports); err != nil {
		return err
	}
	messages, err := launch.OpenLog(filepath.Join(l.Dir, m.file(fileMessages)))
	if err != nil {
		return err
	}
	defer messages.Given()
	console, err := launch.OpenNamedLog(filepath.Join(l.Dir, m.file(pipeConsole)), filepath.Join(l.Dir, m.file(fileConsole)))
	if err != nil {
		return err
	}
	i.undo.Add(func(context.Context) error { return console.Close() })

	i.argv = m.argv()
	path, err := launch.Program(cmp.Or(l.Options[bench.ProgramOption], program))
	if err != nil {
		return err
	}
	if path == l.Options[bench.ProgramOption] {
		i.argv[0] = path
	}
	cmd := exec.Command(path, i.argv[1:]...)
	cmd.Dir = l.Dir
	// TMPDIR is where QEMU puts the root's overlay.
	cmd.Env = []string{"PATH=" + launch.SearchPath(os.Getenv("PATH")), "TMPDIR=" + l.Dir, bench.ProcessMark + "=" + l.ID}
	cmd.Stdout, cmd.Stderr = messages.Pipe(), messages.Pipe()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl-C is for tare, which ends QEMU in order

	if err := i.undo.Register(g.env.Ledger, bench.KindProcess, l.ID, i.stop); err != nil {
		return err
	}
	if cmd, err = launch.InGroup(i.group, g.env.AgentPath, cmd); err != nil {
		return err
	}
	held, err := launch.Hold(cmd, messages)
	if err != nil {
		return err
	}
	defer held.Close()
	if err := g.env.Testnet.Do(cmd.Start); err != nil {
		return err
	}
	i.watch(cmd, messages, console)
	executed := int64(0)
	if i.launched, executed, err = held.Go(ctx); err != nil {
		return err
	}
	i.own = []bench.Span{launch.Own("start the program", i.launched, executed)}
	conn, err := i.accept(ctx, monitor)
	if err != nil {
		return fmt.Errorf("wait for the monitor: %w", err)
	}
	i.monitor = newQMP(conn)
	if m.own {
		i.stream.Connect(vm.NewMute(i.exited))
	} else {
		port, err := i.accept(ctx, agent)
		if err != nil {
			return fmt.Errorf("wait for the agent's port: %w", err)
		}
		i.stream.Connect(port)
	}
	i.watched = launch.Watch(&i.stream, filepath.Join(l.Dir, m.file(fileConsole)), filepath.Join(l.Dir, incoming+fileConsole)).Of(console)
	if err := i.acceptPorts(ctx, m.host.Ports); err != nil {
		return err
	}
	if l.Options[optPin] == "on" {
		from := clock.Now()
		err = i.pin(ctx, l.CPUSet)
		i.own = append(i.own, launch.Own("bind the virtual CPUs", from, clock.Now()))
	}
	return err
}

// vhostDevice is how QEMU asks the kernel to move packets.
const vhostDevice = "/dev/vhost-net"

func useVhost(option string) (bool, error) {
	if option == "off" {
		return false, nil
	}
	f, err := os.OpenFile(vhostDevice, os.O_RDWR, 0)
	if err == nil {
		return true, f.Close()
	}
	if option == "auto" {
		return false, nil
	}
	return false, fmt.Errorf("vhost=on: %w: %w%w", err, bench.ErrUnavailable, bench.Hint("modprobe vhost_net"))
}
