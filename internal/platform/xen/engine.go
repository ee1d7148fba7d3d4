package xen

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
	"tare/internal/host/clock"
	"tare/internal/platform/launch"
	"tare/internal/platform/vm"
	"tare/internal/platform/xen/xenpipe"
)

// engine starts the domains of one run.
type engine struct {
	platform             Platform
	env                  bench.Env
	cgroups              *cgroup.FS
	kernel, initrd, root string
	vifScript            string
	undo                 launch.Undo
}

// Files of an instance, in its directory.
const (
	fileConfig   = "domain.cfg"
	fileMessages = "xl.log"
	fileConsole  = "console.log"
)

// Open implements [bench.Platform].
func (p Platform) Open(ctx context.Context, env bench.Env) (bench.Engine, error) {
	g := &engine{platform: p, env: env}
	if err := g.open(ctx); err != nil {
		return nil, fmt.Errorf("open %s: %w", p.Name(), g.undo.Fail(ctx, err))
	}
	return g, nil
}

func (g *engine) open(ctx context.Context) (err error) {
	if _, err := g.platform.Check(ctx); err != nil {
		return err
	}
	if g.cgroups, err = cgroup.Detect(); err != nil {
		return err
	}
	if g.kernel, g.initrd, err = vm.Boot(ctx, g.env); err != nil {
		return err
	}
	disk, err := g.env.Image.Disk(ctx)
	if err != nil {
		return fmt.Errorf("disk of the image: %w", err)
	}
	if disk, err = filepath.Abs(disk); err != nil {
		return err
	}
	if g.root, err = g.blockDevice(ctx, &g.undo, disk); err != nil {
		return err
	}
	g.vifScript, err = writeVIFScript(g.env)
	return err
}

// Close implements [bench.Engine].
func (g *engine) Close(ctx context.Context) error {
	if err := g.undo.Run(ctx); err != nil {
		return fmt.Errorf("close %s: %w", g.platform.Name(), err)
	}
	return nil
}

// Reads implements [bench.Reading].
func (g *engine) Reads() []string { return []string{g.root, g.kernel, g.initrd} }

// Start implements [bench.Engine].
func (g *engine) Start(ctx context.Context, l bench.Launch) (bench.Instance, error) {
	i := &instance{id: l.ID, dir: l.Dir, pipes: map[string]*xenpipe.Pipe{}}
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
	return nil, fmt.Errorf("start %s %s: %w", g.platform.Name(), l.ID, i.undo.Fail(ctx, err))
}

func (g *engine) start(ctx context.Context, l bench.Launch, i *instance) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := g.confine(l, i); err != nil {
		return err
	}
	m := machine{
		id: l.ID, kind: g.platform.kind, shape: l.Shape, cpus: l.CPUSet, pin: l.Options[optPin] == "on",
		kernel: g.kernel, initrd: g.initrd, bridge: g.env.Testnet.Bridge(), vifScript: g.vifScript,
	}
	if nic := l.Options[optNIC]; nic != "" && nic != nicXen { // other kinds have no such option
		m.nic, i.emulated = nic, true
	}
	if err := g.disks(ctx, l, i, &m); err != nil {
		return err
	}
	var err error
	if l.Host != nil {
		if err := g.hosting(ctx, *l.Host, i, &m); err != nil {
			return err
		}
	}
	if m.lease, err = g.env.Testnet.Allocate(); err != nil {
		return fmt.Errorf("address: %w", err)
	}
	i.addr = m.lease.Addr.Addr()
	text, err := m.config()
	if err != nil {
		return err
	}
	config := filepath.Join(l.Dir, fileConfig)
	i.undo.Add(func(context.Context) error { return i.removeFiles(config) })
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	if err := i.undo.Register(g.env.Ledger, bench.KindProcess, l.ID, i.endHelpers); err != nil {
		return err
	}
	if err := i.undo.Register(g.env.Ledger, bench.KindDomain, l.ID, i.destroy); err != nil {
		return err
	}
	return g.create(ctx, i, config, l.Host)
}

// hosting makes ready what a domain has that another platform will run in.
func (g *engine) hosting(ctx context.Context, h bench.Hosting, i *instance, m *machine) error {
	if h.Virtualization || h.Hypervisor != "" {
		return fmt.Errorf("a domain that runs virtual machines itself: %w%w", bench.ErrUnavailable,
			bench.Hint("Xen's nested virtualization is not used: run the virtual machine by the domain's side"))
	}
	m.host = true
	var err error
	if m.script, err = writeDiskScript(i.dir); err != nil {
		return err
	}
	i.undo.Add(func(context.Context) error { return removeFiles(m.script) })
	for _, file := range h.Disks {
		device, err := g.blockDevice(ctx, &i.undo, file)
		if err != nil {
			return fmt.Errorf("disk %s: %w", file, err)
		}
		m.more = append(m.more, device)
	}
	return nil
}

// confine makes the control group of what xl leaves running beside the domain,
// to be found again; it limits nothing.
func (g *engine) confine(l bench.Launch, i *instance) error {
	var err error
	i.group, _, err = i.undo.Group(g.env.Ledger, g.cgroups, l.Group(g.env.Run), cgroup.Limits{})
	i.unenforced = append(vm.GuestKeeps(l.Shape), cgroup.DiskLimits(l.Shape)...)
	if l.Shape.MemoryNodes != "" {
		i.unenforced = append(i.unenforced, bench.MemoryNodes)
	}
	return err
}

// create creates the domain and opens its console and its pipes.
func (g *engine) create(ctx context.Context, i *instance, config string, h *bench.Hosting) error {
	messages, err := os.Create(filepath.Join(i.dir, fileMessages))
	if err != nil {
		return err
	}
	defer messages.Close()
	path, err := launch.Program("xl")
	if err != nil {
		return err
	}
	i.argv = []string{"xl", "create", "-q", config}
	cmd := exec.CommandContext(ctx, path, i.argv[1:]...)
	cmd.Dir = i.dir
	cmd.Env = []string{"PATH=" + launch.SearchPath(os.Getenv("PATH")), bench.ProcessMark + "=" + i.id}
	cmd.Stdout, cmd.Stderr = messages, messages
	i.created = true // maybe in part only
	err = i.group.Around(func(born syscall.SysProcAttr) error {
		born.Setsid = true // Ctrl-C is for tare, which destroys the domain in order
		cmd.SysProcAttr = &born
		i.launched = clock.Now()
		return cmd.Start()
	})
	if err != nil {
		return err
	}
	i.own = []bench.Span{launch.Own("start the program", i.launched, clock.Now())}
	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("xl create: %w", err)
	}
	created := clock.Now()
	defer func() { i.own = append(i.own, launch.Own("find the console", created, clock.Now())) }()
	out, err := launch.Output(ctx, "xl", "domid", i.id)
	if err != nil {
		return err
	}
	if i.number, err = strconv.Atoi(strings.TrimSpace(string(out))); err != nil {
		return fmt.Errorf("xl domid %s: %q is not a number", i.id, out)
	}
	names := []string{vm.PortName}
	if h != nil {
		names = append(names, h.Ports...)
	}
	for _, name := range names {
		pipe, err := xenpipe.Dial(i.number, name)
		if err != nil {
			return err
		}
		i.pipes[name] = pipe
	}
	if err := g.connect(ctx, i); err != nil {
		return err
	}
	i.watched = launch.Watch(i.pipes[vm.PortName], filepath.Join(i.dir, fileConsole))
	return nil
}

// consoleWithin bounds how long xenconsoled may take to serve a new domain.
const consoleWithin = 10 * time.Second

// connect opens the terminal by which xenconsoled serves the domain's console.
func (g *engine) connect(ctx context.Context, i *instance) error {
	ctx, cancel := context.WithTimeout(ctx, g.env.Patience(consoleWithin))
	defer cancel()
	for {
		// Exits with 1 while the node is not there.
		out, err := launch.Output(ctx, "xenstore-read", fmt.Sprintf("/local/domain/%d/console/tty", i.number))
		if tty := strings.TrimSpace(string(out)); err == nil && tty != "" {
			i.console, err = openConsole(tty, filepath.Join(i.dir, fileConsole), i.ended)
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("console of domain %d: %w%w", i.number, err, bench.Hint("is xenconsoled running?"))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// vifScript is what xl runs when a domain's network device has appeared in the
// control domain and when it goes: it takes it into the test network, on the bridge. xl waits
// for the script; the backend for the word in the store
// (Documentation of xen-network-scripts). For a card that QEMU emulates xl runs it once more, for
// QEMU's tap, which no backend waits for.
const vifScript = `#!/bin/sh
[ "$1" = online ] || [ "$1" = add ] || exit 0
if [ "$2" = type_if=tap ]; then
	ip link set dev "$INTERFACE" netns %[1]s && exec nsenter --net=%[1]s ip link set dev "$INTERFACE" master %[2]s up
	exit 1
fi
ip link set dev "$vif" netns %[1]s &&
nsenter --net=%[1]s ip link set dev "$vif" master %[2]s up &&
xenstore-write "$XENBUS_PATH/hotplug-status" connected && exit 0
xenstore-write "$XENBUS_PATH/hotplug-status" error
exit 1
`

func writeVIFScript(e bench.Env) (string, error) {
	path, err := filepath.Abs(filepath.Join(e.Dir, "vif"))
	if err != nil {
		return "", err
	}
	return path, os.WriteFile(path, fmt.Appendf(nil, vifScript, e.Testnet.NetNS(), e.Testnet.Bridge()), 0o755)
}

// diskScript is what xl runs for each further disk of a domain that is a host, in place
// of its own, which looks through the store for whoever else uses the device, each under one
// lock: with five disks on a slow host longer than xl waits. That one is left to
// the disks that any domain has, so that a launch costs what users pay.
const diskScript = `#!/bin/sh
[ "$1" = add ] || exit 0
device=$(xenstore-read "$XENBUS_PATH/params") &&
xenstore-write "$XENBUS_PATH/physical-device" "$(stat -L -c %t:%T "$device")" "$XENBUS_PATH/physical-device-path" "$device" \
	"$XENBUS_PATH/hotplug-status" connected && exit 0
xenstore-write "$XENBUS_PATH/hotplug-status" error
exit 1
`

func writeDiskScript(dir string) (string, error) {
	path, err := filepath.Abs(filepath.Join(dir, "disk"))
	if err != nil {
		return "", err
	}
	return path, os.WriteFile(path, []byte(diskScript), 0o755)
}

// device is the name of the domain's network device in the control domain.
func (i *instance) device() string {
	name := fmt.Sprintf("vif%d.0", i.number)
	if i.emulated {
		name += "-emu" // QEMU's tap
	}
	return name
}
