package incus

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

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
	"tare/internal/platform/launch"
)

// instance is one container. LXC makes its control group and that of its monitor in
// one of the instance.
type instance struct {
	engine     *engine
	launch     bench.Launch
	container  container
	outer      *cgroup.Group
	calls      *net.UnixListener
	client     *launch.Process // incus start
	stream     *launch.Call
	argv       []string
	unenforced []string
	undo       launch.Undo
}

func (i *instance) dir(name string) string { return filepath.Join(i.launch.Dir, name) }
func (i *instance) rootfs() string {
	return filepath.Join(i.engine.state, "storage-pools", pool, "containers", i.container.name(), "rootfs")
}

// prepare makes the container, its layer over the image and all that both need.
func (i *instance) prepare(ctx context.Context) error {
	e, l := i.engine, i.launch
	disk, err := cgroup.DiskOf(l.Shape, l.Dir)
	if err != nil {
		return err
	}
	// In it LXC makes the groups of the container and of its monitor.
	limits := cgroup.LimitsAbove(l.Shape, l.CPUSet, disk)
	limits.HandDown = true
	if i.outer, i.unenforced, err = i.undo.Group(e.env.Ledger, e.cgroups, l.Group(e.env.Run), limits); err != nil {
		return err
	}
	i.container = container{launch: l, agent: e.env.AgentPath, scratch: i.dir("scratch"), port: i.dir("port"),
		group: bench.CgroupRoot + "/" + i.outer.Name(), bridge: e.env.Testnet.Bridge(), disk: disk, v2: e.cgroups.Mode() == "v2"}
	c := &i.container
	if l.Options["net"] == "veth" {
		if c.lease, err = e.env.Testnet.Allocate(); err != nil {
			return err
		}
	}
	for _, name := range []string{"upper", "work", "scratch", "port"} {
		if err := os.Mkdir(i.dir(name), 0o755); err != nil {
			return err
		}
	}
	if c.boots() {
		if err := launch.Install(e.image, i.dir("upper")); err != nil {
			return err
		}
	}
	if err := errors.Join(launch.GiveAway(i.dir("upper")), launch.GiveAway(i.dir("scratch"))); err != nil {
		return err
	}
	if i.calls, err = launch.ListenToAll(c.port); err != nil {
		return err
	}
	i.undo.Add(func(context.Context) error { i.calls.Close(); return nil }) // or the call did
	text, unenforced, err := c.encode(i.outer.Has)
	if err != nil {
		return err
	}
	i.unenforced = append(append(i.unenforced, unenforced...), bench.DiskSize)
	i.undo.Add(i.remove)
	if _, err := e.ask(ctx, text, "create", "--empty", c.name(), "--no-profiles", "--storage", pool); err != nil {
		return err
	}
	return launch.Within(e.daemon.PID(), func() error { return launch.Overlay(e.image, l.Dir, i.rootfs()) })
}

// start has the daemon start the container. The client ends once it has.
func (i *instance) start() error {
	path, err := launch.Program(client)
	if err != nil {
		return err
	}
	i.argv = []string{client, "start", i.container.name()}
	cmd := exec.Command(path, i.argv[1:]...)
	cmd.Env = append(i.engine.vars(), bench.ProcessMark+"="+i.launch.ID)
	gone := func(context.Context) error { return nil } // stopped by then
	if err := i.undo.Register(i.engine.env.Ledger, bench.KindProcess, i.launch.ID, gone); err != nil {
		return err
	}
	if i.client, err = launch.Start(cmd, i.dir("words")); err != nil {
		return err
	}
	refused := make(chan struct{})
	go func() {
		if <-i.client.Done(); i.client.State() != started {
			close(refused)
		}
	}()
	i.stream = launch.AwaitCall(i.calls, i.outer, refused)
	i.undo.Add(i.end)
	return nil
}

// started is the state of a client whose daemon has started the container.
const started = "exit status 0"

func (i *instance) Stream() io.ReadWriteCloser { return i.stream }
func (i *instance) Launched() int64            { return i.client.Launched() }
func (i *instance) Command() []string          { return slices.Clone(i.argv) }
func (i *instance) Unenforced() []string       { return slices.Clone(i.unenforced) }
func (i *instance) HeldUp() bool               { return i.client.HeldUp() }
func (i *instance) Addr() netip.Addr           { return i.container.lease.Addr.Addr() }

// part is the group that LXC has made for the container ("payload") or its "monitor",
// with those of its directories that exist.
func (i *instance) part(what string) (g *cgroup.Group, dirs map[string]string) {
	name := "lxc." + what + "." + i.container.name()
	dirs = map[string]string{}
	for controller, dir := range i.outer.Dirs() {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			dirs[controller] = filepath.Join(dir, name)
		}
	}
	return i.engine.cgroups.Group(i.outer.Name() + "/" + name), dirs
}

// Scope is the container's group, its monitor beside it and the daemon.
func (i *instance) Scope() (bench.Scope, error) {
	fail := func(err error) (bench.Scope, error) {
		return bench.Scope{}, fmt.Errorf("scope of container %s: %w", i.launch.ID, err)
	}
	payload, dirs := i.part("payload")
	s := bench.Scope{Cgroups: dirs, Shared: []bench.Process{{PID: i.engine.daemon.PID(), Part: "daemon"}}}
	inside, err := payload.Procs()
	if err == nil && len(inside) == 0 {
		err = errors.New("no process in it")
	}
	if err != nil {
		return fail(err)
	}
	monitor, _ := i.part("monitor")
	watching, err := monitor.Procs()
	if err != nil {
		return fail(err)
	}
	for _, pid := range watching {
		// With it in the group, for a moment, are the daemon's child that started it, and what it starts itself.
		of, err := launch.Parent(pid)
		if err == nil && of != i.engine.daemon.PID() && !slices.Contains(watching, of) {
			s.Helpers = append(s.Helpers, bench.Process{PID: pid, Part: "monitor"})
		}
	}
	if len(s.Helpers) == 0 {
		return fail(fmt.Errorf("no monitor among the processes %v of its group", watching))
	}
	s.NetNS = fmt.Sprintf("/proc/%d/ns/net", inside[0])
	if i.launch.Options["net"] == "veth" {
		dev, err := launch.HostEnd(inside[0], "eth0", i.engine.env.Testnet.NetNS())
		if err != nil {
			return fail(err)
		}
		s.NetDevs = []string{dev}
	}
	return s, nil
}

// Log is what the client and LXC have said.
func (i *instance) Log() string {
	var b strings.Builder
	if state := i.client.State(); !i.client.Running() && state != started {
		fmt.Fprintf(&b, "incus start ended: %s\n", state)
	}
	b.WriteString(launch.Tail(i.dir("words")))
	b.WriteString(launch.Tail(filepath.Join(i.engine.state, "logs", i.container.name(), "lxc.log")))
	return b.String()
}

// Close ends the container.
func (i *instance) Close(ctx context.Context) error {
	if err := i.undo.Run(ctx); err != nil {
		return fmt.Errorf("close container %s: %w", i.launch.ID, err)
	}
	return nil
}

// grace is how long the client may take to hear of the start.
const grace = 3 * time.Second

// end kills all in the container, of which the daemon then hears.
func (i *instance) end(ctx context.Context) error {
	_ = i.stream.Close() // by now its user may have closed it
	err := i.client.Stop(ctx, grace)
	if payload, dirs := i.part("payload"); len(dirs) > 0 {
		err = errors.Join(err, payload.Kill(ctx))
	}
	return err
}

// remove makes the daemon forget the container. Its layer is taken off first: what is
// in it is not for Incus to delete, one file after the other.
func (i *instance) remove(ctx context.Context) error {
	if !i.engine.daemon.Running() {
		return nil // all is gone with its group and its mounts
	}
	err := launch.Within(i.engine.daemon.PID(), func() error {
		err := unix.Unmount(i.rootfs(), unix.MNT_DETACH)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) { // it was never mounted, or made
			return nil
		}
		return err
	})
	return errors.Join(err, i.forget(ctx))
}

// busyWithin is how long the daemon may be busy with a container's start, or with hearing of
// its end; until then it refuses to delete it in words of several kinds.
const busyWithin = 15 * time.Second

// forget deletes the container, once the daemon lets it be deleted.
func (i *instance) forget(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, i.engine.env.Patience(busyWithin))
	defer cancel()
	for {
		_, err := i.engine.ask(ctx, nil, "delete", "--force", i.container.name())
		if err == nil || strings.Contains(err.Error(), "not found") {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-i.engine.daemon.Done():
			return nil // with all it knew
		case <-time.After(20 * time.Millisecond):
		}
	}
}
