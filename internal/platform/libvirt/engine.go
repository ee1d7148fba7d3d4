package libvirt

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
	"tare/internal/host/clock"
	"tare/internal/host/tree"
	"tare/internal/platform/launch"
	"tare/internal/platform/vm"
)

// engine is the daemon of one run with what its domains share.
type engine struct {
	platform             *Platform
	env                  bench.Env
	daemon               *daemon
	cgroups              *cgroup.FS
	emulator             string
	kernel, initrd, root string
	undo                 launch.Undo
}

// Close implements [bench.Engine].
func (g *engine) Close(ctx context.Context) error {
	if err := g.undo.Run(ctx); err != nil {
		return fmt.Errorf("close %s: %w", g.platform.name, err)
	}
	return nil
}

func (g *engine) open(ctx context.Context, keep string) (err error) {
	if g.cgroups, err = cgroup.Detect(); err != nil {
		return err
	}
	if g.emulator, err = launch.Program(vm.QEMU); err != nil {
		return err
	}
	disk, err := g.env.Image.Disk(ctx)
	if err != nil {
		return fmt.Errorf("disk of the image: %w", err)
	}
	if g.root, err = filepath.Abs(disk); err != nil {
		return err
	}
	if g.kernel, g.initrd, err = vm.Boot(ctx, g.env); err != nil {
		return err
	}
	d := &daemon{run: filepath.Join(bench.RuntimeDir, g.env.Run, g.platform.name), keep: keep}
	removeRun := func(context.Context) error { return tree.Remove(d.run) }
	if err := g.undo.Register(g.env.Ledger, bench.KindDir, d.run, removeRun); err != nil {
		return err
	}
	if err := launch.Provide(&g.undo, g.env.Ledger, dirs["run"]); err != nil {
		return err
	}
	held, err := hold(keep)
	if err != nil {
		return err
	}
	g.undo.Add(func(context.Context) error { return held.Close() })
	group, _, err := g.undo.Group(g.env.Ledger, g.cgroups, g.env.Run+"/"+g.platform.name, cgroup.Limits{})
	if err != nil {
		return err
	}
	mark := g.env.Run + "-" + g.platform.name
	if err := g.undo.Register(g.env.Ledger, bench.KindProcess, mark, d.stop); err != nil {
		return err
	}
	g.daemon = d
	return d.start(ctx, mark, group, g.env.Testnet.NetNS(), held, g.env.Patience(upWithin))
}

// Reads implements [bench.Reading]. Its programs go by other names than it does.
func (g *engine) Reads() []string {
	files := []string{g.root, g.kernel, g.initrd}
	for _, program := range []string{"virsh", "libvirtd"} {
		if path, err := launch.Program(program); err == nil {
			files = append(files, path)
		}
	}
	return files
}

// Start implements [bench.Engine].
func (g *engine) Start(ctx context.Context, l bench.Launch) (bench.Instance, error) {
	i := &instance{id: l.ID, dir: l.Dir, daemon: g.daemon}
	err := vm.CheckShape(l)
	if err == nil {
		err = g.start(ctx, l, i)
	}
	if err == nil {
		return i, nil
	}
	if log := i.Log(); log != "" {
		err = fmt.Errorf("%w\n%s", err, log)
	}
	return nil, fmt.Errorf("start %s %s: %w", g.platform.name, l.ID, i.undo.Fail(ctx, err))
}

func (g *engine) start(ctx context.Context, l bench.Launch, i *instance) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m, err := g.provide(ctx, l, i)
	if err != nil {
		return err
	}
	limits, err := vm.Limits(l)
	if err != nil {
		return err
	}
	if i.group, i.unenforced, err = i.undo.Group(g.env.Ledger, g.cgroups, l.Group(g.env.Run), limits); err != nil {
		return err
	}
	i.unenforced = append(i.unenforced, vm.GuestKeeps(l.Shape)...)
	return g.launch(ctx, m, i)
}

// provide makes the files of the domain and gives it an address.
func (g *engine) provide(ctx context.Context, l bench.Launch, i *instance) (*machine, error) {
	i.undo.Add(i.removeFiles)
	lease, err := g.env.Testnet.Allocate()
	if err != nil {
		return nil, fmt.Errorf("address: %w", err)
	}
	i.addr, i.tap = lease.Addr.Addr(), vm.TapName(l.ID)
	scratch := map[string]string{busVirtio: "/dev/vdb", vm.BusSCSI: "/dev/sda"}
	m := &machine{
		id: l.ID, kind: g.platform.domain, emulator: g.emulator, options: l.Options, cpus: l.Shape.CPUs, memory: l.Shape.Memory,
		kernel: g.kernel, initrd: g.initrd, root: g.root, dir: l.Dir, socket: i.socket(),
		bridge: g.env.Testnet.Bridge(), tap: i.tap, mac: lease.MAC,
		guest: vm.Guest{Addr: lease.Addr, Gateway: lease.Gateway, Scratch: scratch[l.Options[optBus]]},
	}
	if l.Options[optBus] != busVirtio {
		m.guest.Bus = l.Options[optBus]
	}
	if err := vm.Scratch(ctx, l.Dir, l.Options[optDisk], l.Shape.Disk); err != nil {
		return nil, err
	}
	if _, err := launch.Output(ctx, "qemu-img", "create", "-q", "-f", vm.Qcow2, "-F", vm.Raw, "-b", g.root, m.overlay()); err != nil {
		return nil, fmt.Errorf("overlay of the root: %w", err)
	}
	text, err := m.describe()
	if err != nil {
		return nil, err
	}
	return m, os.WriteFile(m.description(), text, 0o600)
}

// agentWithin is how long QEMU may take to connect to the agent's socket, which
// it has done when virsh returns.
const agentWithin = 10 * time.Second

// launch creates the domain with its virtual CPUs stopped, puts QEMU into the
// control group, and lets them run.
func (g *engine) launch(ctx context.Context, m *machine, i *instance) error {
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: i.socket(), Net: "unix"})
	if err != nil {
		return fmt.Errorf("socket for the agent's port: %w", err)
	}
	defer ln.Close()
	if i.console, err = launch.OpenNamedLog(m.console(), filepath.Join(m.dir, fileConsole)); err != nil {
		return err
	}
	i.undo.Add(func(context.Context) error { return i.console.Close() })
	if err := i.undo.Register(g.env.Ledger, bench.KindProcess, m.id, i.stop); err != nil {
		return err
	}
	i.command = append([]string{"virsh"}, g.daemon.args("create", m.description(), "--paused")...)
	i.launched = clock.Now()
	if _, err := g.daemon.virsh(ctx, "create", m.description(), "--paused"); err != nil {
		return err
	}
	from := clock.Now()
	if i.pid, err = readPID(filepath.Join(g.daemon.dir("run"), "qemu", m.id+".pid")); err != nil {
		return err
	}
	if err := i.group.Add(i.pid); err != nil {
		return err
	}
	i.own = []bench.Span{launch.Own("put QEMU into the control group", from, clock.Now())}
	if _, err := g.daemon.virsh(ctx, "resume", m.id); err != nil {
		return err
	}
	if err := ln.SetDeadline(time.Now().Add(agentWithin)); err != nil {
		return err
	}
	port, err := ln.Accept()
	if err != nil {
		return fmt.Errorf("wait for the agent's port: %w", err)
	}
	i.stream = launch.Watch(port, filepath.Join(m.dir, fileConsole), i.messages()).Of(i.console)
	return nil
}

func readPID(file string) (int, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, fmt.Errorf("process of the domain: %w", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 1 {
		return 0, fmt.Errorf("process of the domain: %s holds %.40q", file, text)
	}
	return pid, nil
}

// Command implements [bench.Instance].
func (i *instance) Command() []string { return slices.Clone(i.command) }
