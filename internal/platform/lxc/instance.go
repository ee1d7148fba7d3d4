package lxc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
	"tare/internal/platform/launch"
)

// instance is one container and its monitor, which is lxc-execute itself. They
// are side by side in a cgroup of the instance, which holds weight and soft
// limit, for that is where instances of all platforms are siblings.
type instance struct {
	engine     *engine
	container  container
	monitor    *launch.Process
	stream     io.ReadWriteCloser
	command    []string
	group      *cgroup.Group
	unenforced []string
	undo       launch.Undo
}

// prepare makes all that lxc-execute needs.
func (i *instance) prepare(ctx context.Context) error {
	e, c := i.engine, &i.container
	if err := c.checkPaths(); err != nil {
		return err
	}
	var err error
	if c.disk, err = cgroup.DiskOf(c.launch.Shape, c.launch.Dir); err != nil {
		return err
	}
	// In it lxc makes the groups of the container and of its monitor.
	limits := cgroup.LimitsAbove(c.launch.Shape, c.launch.CPUSet, c.disk)
	limits.HandDown = true
	if i.group, i.unenforced, err = i.undo.Group(e.env.Ledger, e.cgroups, c.launch.Group(e.env.Run), limits); err != nil {
		return err
	}
	if c.launch.Options["net"] == "veth" {
		if c.lease, err = e.env.Testnet.Allocate(); err != nil {
			return err
		}
	}
	// The caller removes the directory and what is in it.
	for _, dir := range []string{c.upper(), c.work(), c.scratch(), filepath.Dir(c.file())} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	if c.copies() {
		if _, err := launch.Output(ctx, "cp", "--archive", "--reflink=auto", c.image, c.copied()); err != nil {
			return fmt.Errorf("copy the image: %w", err)
		}
	}
	gone := func(context.Context) error { return nil } // stopped by then
	if c.boots() {
		if err := c.install(); err != nil {
			return err
		}
	}
	if err := i.undo.Register(e.env.Ledger, bench.KindProcess, c.launch.ID, gone); err != nil {
		return err
	}
	text, unenforced := c.config(func(controller, file string) bool { return i.group.Has(controller, file, file) })
	i.unenforced = append(append(i.unenforced, unenforced...), bench.DiskSize)
	return os.WriteFile(c.file(), []byte(text), 0o644)
}

// start runs lxc-execute where it sees the test network's devices, and where the lock
// files it leaves behind vanish with it.
func (i *instance) start() error {
	e, c := i.engine, i.container
	i.command = append([]string{filepath.Base(e.programOf(c))}, c.args()...)
	var calls *net.UnixListener
	if c.boots() {
		var err error
		if calls, err = launch.ListenToAll(c.port()); err != nil {
			return err
		}
	}
	err := launch.Apart(e.env.Testnet.NetNS(), func() (err error) {
		if err = launch.FreshSysfs(); err != nil {
			return err
		}
		if err = launch.Hide(runtimeDir); err != nil {
			return err
		}
		if c.unprivileged() {
			if err = c.assemble(); err != nil {
				return err
			}
		}
		i.monitor, err = launch.Start(e.command(c), c.stderr())
		return err
	})
	if err != nil {
		if calls != nil {
			calls.Close()
		}
		return err
	}
	i.stream = i.monitor.Stream()
	if calls != nil {
		i.stream = launch.AwaitCall(calls, i.group, i.monitor.Done())
	}
	i.undo.Add(i.end)
	return nil
}

// assemble mounts what an unprivileged container is made of where its users
// can reach it. All goes with the last process.
func (c container) assemble() error {
	for _, dir := range []string{rootThere, scratchThere} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	if err := os.WriteFile(agentThere, nil, 0o755); err != nil {
		return err
	}
	tree := c.image
	if c.copies() {
		tree = c.copied()
	}
	if err := launch.MapIDs(tree, c.upper(), c.scratch()); err != nil {
		return err
	}
	if !c.copies() {
		if err := launch.Overlay(c.image, c.launch.Dir, rootThere); err != nil {
			return err
		}
	} else if err := bind(tree, rootThere); err != nil {
		return err
	}
	if c.boots() {
		if err := errors.Join(os.Mkdir(portThere, 0o755), bind(c.port(), portThere)); err != nil {
			return err
		}
	}
	return errors.Join(bind(c.scratch(), scratchThere), bind(c.agent, agentThere))
}

func bind(from, to string) error {
	if err := unix.Mount(from, to, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind %s: %w", from, err)
	}
	return nil
}

func (i *instance) Stream() io.ReadWriteCloser { return i.stream }
func (i *instance) Launched() int64            { return i.monitor.Launched() }
func (i *instance) Trace() []bench.Span        { return i.monitor.Trace() }
func (i *instance) Command() []string          { return i.command }
func (i *instance) Unenforced() []string       { return i.unenforced }
func (i *instance) HeldUp() bool               { return i.monitor.HeldUp() }

// Addr is the container's own address, or the test network's with net=host.
func (i *instance) Addr() netip.Addr {
	if i.container.launch.Options["net"] == "host" {
		return i.engine.addr
	}
	return i.container.lease.Addr.Addr()
}

// payloadGroup begins the name of the group in which LXC puts a container.
const payloadGroup = "/lxc.payload."

// payload finds the container's first process and its cgroups: the child of
// the monitor that lxc has put into the payload's group.
func (i *instance) payload() (pid int, cgroups map[string]string, err error) {
	children, err := launch.Children(i.monitor.PID())
	if err != nil {
		return 0, nil, err
	}
	for _, c := range children {
		cgroups, err := i.engine.cgroups.Of(c.PID)
		if err != nil {
			continue // it ended meanwhile
		}
		found := false
		for key, dir := range cgroups {
			// An init system moves itself into a group below the container's.
			if at := strings.Index(dir, payloadGroup); at >= 0 {
				end, _, _ := strings.Cut(dir[at+1:], "/")
				cgroups[key], found = dir[:at+1]+end, true
			}
		}
		if found {
			return c.PID, cgroups, nil
		}
	}
	return 0, nil, errors.New("no process in it")
}

// Scope finds the container's cgroups, its monitor and its network device.
func (i *instance) Scope() (bench.Scope, error) {
	s := bench.Scope{Helpers: []bench.Process{{PID: i.monitor.PID(), Part: "monitor"}}}
	fail := func(err error) (bench.Scope, error) {
		return bench.Scope{}, fmt.Errorf("scope of container %s: %w", i.container.launch.ID, err)
	}
	pid, cgroups, err := i.payload()
	if err != nil {
		return fail(err)
	}
	s.Cgroups = cgroups
	net := i.container.launch.Options["net"]
	if net != "host" {
		s.NetNS = fmt.Sprintf("/proc/%d/ns/net", pid)
	}
	if net == "veth" {
		dev, err := launch.HostEnd(pid, "eth0", i.engine.env.Testnet.NetNS())
		if err != nil {
			return fail(err)
		}
		s.NetDevs = []string{dev}
	}
	return s, nil
}

// Log is the last lxc-execute has printed and written into its log.
func (i *instance) Log() string {
	var b strings.Builder
	if !i.monitor.Running() {
		fmt.Fprintf(&b, "the monitor ended: %s\n", i.monitor.State())
	}
	b.WriteString(launch.Tail(i.container.stderr()))
	b.WriteString(launch.Tail(i.container.log()))
	return b.String()
}

// Close ends the container.
func (i *instance) Close(ctx context.Context) error {
	if err := i.undo.Run(ctx); err != nil {
		return fmt.Errorf("close container %s: %w", i.container.launch.ID, err)
	}
	return nil
}

// grace is how long the monitor may take to clean up after its container.
const grace = 3 * time.Second

// end kills the container as lxc-stop --kill does, by its first process, and
// waits for the monitor. What is left after that ends with the cgroup.
func (i *instance) end(ctx context.Context) error {
	if pid, _, err := i.payload(); err == nil {
		if err := unix.Kill(pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("kill process %d: %w", pid, err)
		}
	}
	_ = i.stream.Close() // by now its user may have closed it
	return i.monitor.Stop(ctx, grace)
}
