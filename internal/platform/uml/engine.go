package uml

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/guest/serial"
	"tare/internal/host/cgroup"
	"tare/internal/platform/launch"
	"tare/internal/platform/vm"
)

// Allowance is what the kernel may need beside the guest's memory: its own code
// and data, and page tables for each program inside.
const Allowance = 128 * bench.MiB

// engine starts the instances of one run.
type engine struct {
	env     bench.Env
	path    string // of the kernel
	cgroups *cgroup.FS
	initrd  string
	root    string
}

// Open finds the image's disk and makes the initial RAM file system.
func (Platform) Open(ctx context.Context, env bench.Env) (bench.Engine, error) {
	e := &engine{env: env}
	if err := e.open(ctx); err != nil {
		return nil, fmt.Errorf("open uml: %w", err)
	}
	return e, nil
}

func (e *engine) open(ctx context.Context) (err error) {
	if e.path, err = launch.Program(program); err != nil {
		return fmt.Errorf("%w: %w", err, bench.ErrUnavailable)
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
	e.initrd, err = vm.Bare(e.env)
	return err
}

// Close has nothing to stop; the run removes its directory.
func (e *engine) Close(context.Context) error { return nil }

// Reads implements [bench.Reading].
func (e *engine) Reads() []string { return []string{e.root, e.initrd} }

// Start boots one guest.
func (e *engine) Start(ctx context.Context, l bench.Launch) (bench.Instance, error) {
	i := &instance{id: l.ID, log: filepath.Join(l.Dir, "console.log")}
	err := ctx.Err()
	if err == nil {
		err = checkLaunch(l)
	}
	if err == nil {
		err = e.start(ctx, i, l)
	}
	if err != nil {
		return nil, fmt.Errorf("start uml %s: %w", l.ID, i.undo.Fail(ctx, err))
	}
	return i, nil
}

func (e *engine) start(ctx context.Context, i *instance, l bench.Launch) error {
	m := machine{launch: l, initrd: e.initrd, root: e.root}
	for _, dir := range []string{m.memory(), m.nothing()} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	if err := vm.Scratch(ctx, l.Dir, vm.Raw, l.Shape.Disk); err != nil {
		return err
	}
	if err := e.confine(i, l); err != nil {
		return err
	}
	if err := e.connect(i, &m); err != nil {
		return err
	}
	if err := i.undo.Register(e.env.Ledger, bench.KindProcess, l.ID, i.end); err != nil {
		return err
	}
	return e.boot(ctx, i, m)
}

// confine makes the guest's control group.
func (e *engine) confine(i *instance, l bench.Launch) error {
	limits, err := vm.Limits(l)
	if err != nil {
		return err
	}
	limits.Memory = l.Shape.Memory + Allowance
	i.group, i.unenforced, err = i.undo.Group(e.env.Ledger, e.cgroups, l.Group(e.env.Run), limits)
	i.unenforced = append(i.unenforced, vm.GuestKeeps(l.Shape)...)
	if l.Options[optCache] == "writeback" && e.cgroups.Mode() != "v2" {
		// Version 1 knows not whose data the kernel writes back from the page cache.
		i.unenforced = append(i.unenforced, cgroup.DiskLimits(l.Shape)...)
	}
	return err
}

// connect makes the tap device. The ledger knows the test network it is in.
func (e *engine) connect(i *instance, m *machine) (err error) {
	if m.lease, err = e.env.Testnet.Allocate(); err != nil {
		return err
	}
	m.tap = vm.TapName(i.id)
	if err := e.env.Testnet.Tap(m.tap); err != nil {
		return err
	}
	i.undo.Add(func(context.Context) error { return e.env.Testnet.RemoveTap(m.tap) })
	i.addr, i.tap = m.lease.Addr.Addr(), m.tap
	return nil
}

// boot starts the kernel, as the first process of a PID namespace.
func (e *engine) boot(ctx context.Context, i *instance, m machine) error {
	args := m.args()
	i.argv = append([]string{program}, args...)
	cmd := exec.Command(e.path, args...)
	cmd.Dir = m.launch.Dir
	// In TMPDIR is the file that is the guest's memory.
	cmd.Env = []string{"PATH=" + launch.SearchPath(""), "TMPDIR=" + m.memory(), bench.ProcessMark + "=" + i.id}
	err := launch.Apart(e.env.Testnet.NetNS(), func() (err error) {
		size := fmt.Sprintf("mode=700,size=%d", m.launch.Shape.Memory+bench.MiB)
		if err := unix.Mount("tare", m.memory(), "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, size); err != nil {
			return fmt.Errorf("file system for the guest's memory: %w", err)
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID}
		i.process, err = launch.StartIn(ctx, i.group, e.env.AgentPath, cmd, i.log)
		return err
	})
	if err == nil {
		i.stream = serial.NewHost(i.process.Stream(), io.Discard) // the console is another line
	}
	return err
}
