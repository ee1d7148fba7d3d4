package microvm

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/bench"
	"tare/internal/guest/serial"
	"tare/internal/host/cgroup"
	"tare/internal/platform/launch"
	"tare/internal/platform/vm"
)

// Files of an instance, in its directory. All that end in ".log" are its log.
const (
	fileWords   = "monitor.log" // what the monitor says
	fileConsole = "console.log" // what the kernel said until the agent took the line
)

// engine starts the instances of one run.
type engine struct {
	Monitor
	env     bench.Env
	version Version
	path    string // of the program
	cgroups *cgroup.FS
	kernel  string
	initrd  string
	root    string
}

// Open tries KVM if that has not been done, and makes what all instances boot from.
func (p *Platform) Open(ctx context.Context, env bench.Env) (bench.Engine, error) {
	if err := p.Probe(ctx, env); err != nil {
		return nil, err
	}
	e := &engine{Monitor: p.monitor, env: env}
	if err := e.open(ctx, p); err != nil {
		return nil, fmt.Errorf("open %s: %w", p.monitor.Name, err)
	}
	return e, nil
}

func (e *engine) open(ctx context.Context, p *Platform) (err error) {
	if e.version, err = p.programs(ctx); err != nil {
		return err
	}
	if e.path, err = launch.Program(e.Program); err != nil {
		return err
	}
	if e.cgroups, err = cgroup.Detect(); err != nil {
		return err
	}
	disk, err := e.env.Image.Disk(ctx)
	if err != nil {
		return fmt.Errorf("disk of the image: %w", err)
	}
	if e.root, err = filepath.Abs(disk); err != nil {
		return err
	}
	if e.kernel, e.initrd, err = vm.Boot(ctx, e.env); err != nil {
		return err
	}
	e.kernel, err = vm.Vmlinux(ctx, e.env.Dir, e.kernel)
	return err
}

// Close has nothing to stop; the run removes its directory.
func (e *engine) Close(context.Context) error { return nil }

// Reads implements [bench.Reading].
func (e *engine) Reads() []string { return []string{e.root, e.kernel, e.initrd} }

// Start boots one guest.
func (e *engine) Start(ctx context.Context, l bench.Launch) (bench.Instance, error) {
	i := &instance{name: e.Name, id: l.ID, dir: l.Dir, threads: &e.Threads}
	err := ctx.Err()
	if err == nil {
		err = checkOptions(e.Options, l.Options)
	}
	if err == nil {
		err = vm.CheckOwn(l)
	}
	if err == nil {
		err = vm.CheckShape(l)
	}
	if err == nil {
		err = e.start(ctx, i, l)
	}
	if err == nil {
		return i, nil
	}
	if log := i.Log(); log != "" {
		err = fmt.Errorf("%w\n%s", err, log)
	}
	return nil, fmt.Errorf("start %s %s: %w", e.Name, l.ID, i.undo.Fail(ctx, err))
}

func (e *engine) start(ctx context.Context, i *instance, l bench.Launch) error {
	m, err := e.machine(ctx, l)
	if err != nil {
		return err
	}
	i.undo.Add(i.removeFiles)
	if m.Disk != "" {
		if err := vm.Disk(ctx, m.Dir, l.Own.Disk.Path); err != nil {
			return err
		}
	}
	if !m.Own {
		if err := vm.Scratch(ctx, m.Dir, vm.Raw, l.Shape.Disk); err != nil {
			return err
		}
		if err := vm.Layer(ctx, m.Dir); err != nil {
			return err
		}
	}
	if err := e.confine(i, l); err != nil {
		return err
	}
	if err := e.connect(i, &m, l.Own); err != nil {
		return err
	}
	if i.argv, err = e.Argv(m); err != nil {
		return err
	}
	if err := i.undo.Register(e.env.Ledger, bench.KindProcess, l.ID, i.end); err != nil {
		return err
	}
	return e.boot(ctx, i, m.Own)
}

// machine is the one of the launch, as far as nothing need be made for it.
func (e *engine) machine(ctx context.Context, l bench.Launch) (Machine, error) {
	dir, err := filepath.Abs(l.Dir)
	if err != nil {
		return Machine{}, err
	}
	m := Machine{
		ID: l.ID, Dir: dir, Version: e.version, Options: l.Options, CPUs: l.Shape.CPUs, CPUSet: l.CPUSet, Memory: l.Shape.Memory,
		Kernel: e.kernel, Initrd: e.initrd,
		Root: e.root, Scratch: filepath.Join(dir, vm.ScratchFile(vm.Raw)), Layer: filepath.Join(dir, vm.LayerFile),
	}
	if l.Own != nil {
		m.Own, m.Kernel, m.Initrd, m.Root, m.Scratch, m.Layer = true, l.Own.Kernel.Path, "", "", "", ""
		if l.Own.Initrd != nil {
			m.Initrd = l.Own.Initrd.Path
		}
		if l.Own.Disk != nil {
			m.Disk = filepath.Join(dir, vm.DiskFile)
		}
		if m.Kernel, err = vm.Uncompressed(ctx, e.env.Dir, m.Kernel); err != nil {
			return m, err
		}
	}
	if e.Refuse != nil {
		err = e.Refuse(m)
	}
	return m, err
}

// checkOptions refuses what the platform does not declare.
func checkOptions(known []bench.Option, given map[string]string) error {
	for _, o := range known {
		if v := given[o.Name]; !slices.Contains(o.Values, v) {
			return fmt.Errorf("option %s=%q: %w%w", o.Name, v, bench.ErrInvalid, bench.Hint("one of: "+strings.Join(o.Values, ", ")))
		}
	}
	for name := range given {
		if !slices.ContainsFunc(known, func(o bench.Option) bool { return o.Name == name }) {
			return fmt.Errorf("option %q: not one of this platform: %w", name, bench.ErrInvalid)
		}
	}
	return nil
}

// confine makes the control group of the launch.
func (e *engine) confine(i *instance, l bench.Launch) error {
	limits, err := vm.Limits(l)
	if err != nil {
		return err
	}
	i.group, i.unenforced, err = i.undo.Group(e.env.Ledger, e.cgroups, l.Group(e.env.Run), limits)
	i.unenforced = append(i.unenforced, vm.GuestKeeps(l.Shape)...)
	return err
}

// connect makes the tap device. The ledger knows the test network it is in.
func (e *engine) connect(i *instance, m *Machine, own *bench.OwnKernel) error {
	lease, err := e.env.Testnet.Allocate()
	if err != nil {
		return fmt.Errorf("address: %w", err)
	}
	i.addr, i.tap = lease.Addr.Addr(), vm.TapName(i.id)
	m.Tap, m.MAC = i.tap, lease.MAC
	m.Guest = vm.Guest{Addr: lease.Addr, Gateway: lease.Gateway, Scratch: "/dev/vdb", Layer: "/dev/vdc", Port: "/dev/ttyS0"}
	if own != nil {
		m.Append = own.Cmdline(lease)
	}
	if err := e.env.Testnet.Tap(i.tap); err != nil {
		return err
	}
	i.undo.Add(func(context.Context) error { return e.env.Testnet.RemoveTap(i.tap) })
	return nil
}

// boot starts the monitor and opens the serial line.
func (e *engine) boot(ctx context.Context, i *instance, own bool) (err error) {
	cmd := exec.Command(e.path, i.argv[1:]...)
	cmd.Dir = i.dir
	cmd.Env = []string{"PATH=" + launch.SearchPath(os.Getenv("PATH")), bench.ProcessMark + "=" + i.id}
	err = launch.Apart(e.env.Testnet.NetNS(), func() (err error) {
		i.process, err = launch.StartIn(ctx, i.group, e.env.AgentPath, cmd, i.file(fileWords))
		return err
	})
	if err != nil {
		return err
	}
	i.open = []io.Closer{i.process.Stream()}
	console, err := launch.Keep(i.file(fileConsole))
	if err != nil {
		return err
	}
	i.open, i.console = append(i.open, console), console
	line := i.process.Stream()
	if e.Line != "" {
		if line, err = dial(ctx, i.process, i.dir, e.Line); err != nil {
			return fmt.Errorf("serial line: %w", err)
		}
	}
	var stream io.ReadWriteCloser
	if own { // the line is the console alone
		i.open = append(i.open, line)
		go func() { _, _ = io.Copy(console, line) }() // ends with the line
		stream = vm.NewMute(i.process.Done())
	} else {
		stream = serial.NewHost(line, console)
	}
	i.stream = launch.Watch(stream, i.file(fileConsole))
	i.open = append(i.open, i.stream)
	return nil
}
