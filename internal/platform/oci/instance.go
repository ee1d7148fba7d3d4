package oci

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
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

// instance is one container and the runtime in its foreground. The container's
// cgroup, which the runtime makes, is in one of the instance's, which holds
// weight and soft limit, for that is where instances of all platforms are siblings.
type instance struct {
	engine     *engine
	launch     bench.Launch
	outer      *cgroup.Group
	site       Site
	port       bench.Port
	addr       netip.Addr
	wire       launch.Wire
	process    *launch.Process // the runtime's
	first      *launch.Process // as it was launched: another than process once it has moved
	argv       []string
	unenforced []string
	undo       launch.Undo
}

func (i *instance) log() string    { return filepath.Join(i.launch.Dir, "words") }
func (i *instance) bundle() bundle { return bundle{dir: i.launch.Dir, image: i.engine.image} }

// prepare makes all that the runtime needs.
func (i *instance) prepare(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	e, l := i.engine, i.launch
	if below := l.Options[optRuntime]; below != "" {
		if err := needRuntime(below); err != nil {
			return err
		}
	}
	if i.byUser() {
		if _, err := launch.Program("newuidmap"); err != nil {
			return fmt.Errorf("%w: %w%w", err, bench.ErrUnavailable, bench.Hint("an unprivileged user's container needs it: apt-get install uidmap"))
		}
	}
	disk, err := cgroup.DiskOf(l.Shape, l.Dir)
	if err != nil {
		return err
	}
	_, missing, err := i.undo.Group(e.env.Ledger, e.cgroups, i.outer.Name(), cgroup.LimitsAbove(l.Shape, l.CPUSet, disk))
	if err != nil {
		return err
	}
	if err := i.connect(ctx); err != nil {
		return err
	}
	c := container{launch: l, disk: disk, agent: e.env.AgentPath, group: i.outer.Name() + "/" + inner, netns: i.port.NetNS}
	if err := os.Mkdir(c.scratch(), 0o755); err != nil {
		return err
	}
	has := i.outer.Has
	if i.byUser() {
		has = i.userControls
	}
	s, unenforced := c.spec(has)
	if e.Adapt != nil {
		more, err := e.Adapt(&s, l)
		if err != nil {
			return err
		}
		unenforced = append(unenforced, more...)
	}
	i.unenforced = slices.Concat(missing, unenforced, []string{bench.DiskSize})
	i.site = Site{
		Launch: l, State: e.state, Bundle: l.Dir, Rootfs: i.bundle().rootfs(),
		Group: bench.CgroupRoot + "/" + i.outer.Name(), NetNS: i.port.NetNS, Disk: disk.Path, Spec: s,
	}
	if err := i.bundle().write(s); err != nil {
		return err
	}
	if i.byUser() {
		i.toUser()
	}
	return nil
}

// inner is the name of the container's cgroup in the instance's.
const inner = "container"

// connect settles the container's network.
func (i *instance) connect(ctx context.Context) (err error) {
	switch i.launch.Options["net"] {
	case "veth":
		if i.port, err = i.engine.env.Testnet.Plug(ctx); err != nil {
			return err
		}
		i.addr = i.port.Lease.Addr.Addr()
		i.undo.Add(func(context.Context) error { return i.engine.env.Testnet.Unplug(i.port) })
	case "none":
		i.addr = netip.Addr{}
	}
	return nil
}

// start issues the runtime's run.
func (i *instance) start() error {
	e, l := i.engine, i.launch
	gone := func(context.Context) error { return nil } // stopped by then
	if err := i.undo.Register(e.env.Ledger, bench.KindProcess, l.ID, gone); err != nil {
		return err
	}
	args := e.run(i.site)
	i.argv = append([]string{e.Program}, args...)
	if chosen := e.program(l); chosen != e.path {
		i.argv[0] = chosen
	}
	if i.byUser() {
		p, err := i.startByUser()
		if err != nil {
			return err
		}
		i.launched(p)
		return nil
	}
	cmd := e.command(l, args)
	cmd.Dir = l.Dir // where conmon notes that memory ran out
	if e.service.Daemon != 0 {
		if err := i.mountWithin(e.service.Daemon); err != nil {
			return err
		}
	}
	p, err := i.foreground(cmd)
	if err != nil {
		return err
	}
	i.launched(p)
	return nil
}

// foreground starts the runtime where it sees the container's root, unless a daemon does instead.
func (i *instance) foreground(cmd *exec.Cmd) (p *launch.Process, err error) {
	err = launch.Apart(i.engine.env.Testnet.NetNS(), func() (err error) {
		if i.engine.service.Daemon == 0 {
			if err = i.bundle().mount(); err != nil {
				return err
			}
		}
		if err = launch.CoverControllers(i.engine.cgroups.Mode()); err != nil {
			return err
		}
		p, err = launch.Start(cmd, i.log())
		return err
	})
	return p, err
}

// launched takes over the runtime that has been started.
func (i *instance) launched(p *launch.Process) {
	i.process, i.first = p, p
	i.wire.Connect(p.Stream())
	i.undo.Add(i.end)
}

// mountWithin puts the container's root, and the path of its network namespace,
// where a daemon sees them: in its own mount namespace, with which they go.
func (i *instance) mountWithin(daemon int) error {
	root, netns := i.bundle().rootfs(), i.port.NetNS
	err := launch.Within(daemon, i.bundle().mount)
	if err != nil {
		return err
	}
	i.undo.Add(func(context.Context) error { return unmountWithin(daemon, root) })
	if netns == "" {
		return nil
	}
	f, err := os.Open(netns)
	if err != nil {
		return err
	}
	defer f.Close()
	err = launch.Within(daemon, func() error {
		return unix.Mount(fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), f.Fd()), netns, "", unix.MS_BIND, "")
	})
	if err != nil {
		return fmt.Errorf("bind network namespace for the daemon: %w", err)
	}
	i.undo.Add(func(context.Context) error { return unmountWithin(daemon, netns) })
	return nil
}

func unmountWithin(daemon int, path string) error {
	if _, err := os.Stat(fmt.Sprintf("/proc/%d/ns/mnt", daemon)); err != nil {
		return nil // it went with the daemon
	}
	if err := launch.Within(daemon, func() error { return unix.Unmount(path, unix.MNT_DETACH) }); err != nil {
		return fmt.Errorf("unmount %s for the daemon: %w", path, err)
	}
	return nil
}

func (i *instance) Stream() io.ReadWriteCloser { return &i.wire }
func (i *instance) Launched() int64            { return i.first.Launched() }
func (i *instance) Trace() []bench.Span        { return i.first.Trace() }
func (i *instance) Relays() bool               { return i.engine.Watcher != "" }
func (i *instance) Command() []string          { return slices.Clone(i.argv) }
func (i *instance) Unenforced() []string       { return slices.Clone(i.unenforced) }
func (i *instance) Addr() netip.Addr           { return i.addr }
func (i *instance) HeldUp() bool               { return i.process.HeldUp() }

// Scope is the container's cgroups, where the runtime has made one, and the
// runtime's own processes.
func (i *instance) Scope() (bench.Scope, error) {
	s := bench.Scope{OwnKernel: i.engine.OwnKernel, NetNS: i.port.NetNS, Shared: i.engine.service.Shared}
	if i.port.Device != "" {
		s.NetDevs = []string{i.port.Device}
	}
	parts := i.parts
	if i.byUser() {
		parts = i.partsOfUser
	}
	var err error
	s.Cgroups, s.Helpers, err = parts()
	if err != nil || !i.process.Running() || len(s.Cgroups) == 0 {
		return bench.Scope{}, errors.Join(fmt.Errorf("scope of container %s: %s is %s", i.launch.ID, i.engine.Program, i.process.State()), err)
	}
	return s, nil
}

// parts are where the container's cost is paid, and the processes beside it.
func (i *instance) parts() (dirs map[string]string, helpers []bench.Process, err error) {
	group, dirs := i.container()
	helpers = []bench.Process{{PID: i.process.PID(), Part: cmp.Or(i.engine.Part, "runtime")}}
	parts, err := launch.Parts(i.outer, group, i.engine.Parts)
	for n := range parts {
		parts[n].Threads = i.engine.Threads
	}
	if err == nil && i.engine.Watcher != "" {
		var watcher int
		_, watcher, err = firstOf(group)
		parts = append(parts, bench.Process{PID: watcher, Part: i.engine.Watcher})
	}
	return dirs, append(helpers, parts...), err
}

// firstOf returns the process of the group that was there first, and its parent, which is outside.
func firstOf(g *cgroup.Group) (first, parent int, err error) {
	pids, err := g.Procs()
	if err != nil {
		return 0, 0, err
	}
	for _, pid := range pids {
		if parent, err := launch.Parent(pid); err == nil && !slices.Contains(pids, parent) {
			return pid, parent, nil
		}
	}
	return 0, 0, errors.New("no process in it")
}

// container is the container's cgroup and those of its directories that exist:
// a runtime may know nothing of v2 beside v1.
func (i *instance) container() (g *cgroup.Group, dirs map[string]string) {
	name := cmp.Or(i.engine.Group, inner)
	dirs = map[string]string{}
	for controller, dir := range i.outer.Dirs() {
		at, _ := filepath.Glob(filepath.Join(dir, name))
		if len(at) == 1 {
			dirs[controller], name = at[0], filepath.Base(at[0])
		}
	}
	return i.engine.cgroups.Group(i.outer.Name() + "/" + name), dirs
}

// Log is the last the runtime has printed.
func (i *instance) Log() string {
	var b strings.Builder
	if !i.process.Running() {
		fmt.Fprintf(&b, "%s ended: %s\n", i.engine.Program, i.process.State())
	}
	b.WriteString(launch.Tail(i.log()))
	return b.String()
}

// Close ends the container.
func (i *instance) Close(ctx context.Context) error {
	if err := i.undo.Run(ctx); err != nil {
		return fmt.Errorf("close container %s: %w", i.launch.ID, err)
	}
	return nil
}

// grace is how long the runtime may take to clean up after its container.
const grace = 3 * time.Second

// end kills the container and waits for the runtime; what it cannot take back
// because it is killed itself is deleted by the runtime's own verb.
func (i *instance) end(ctx context.Context) error {
	patience, err := time.Duration(0), error(nil)
	if group, dirs := i.container(); len(dirs) > 0 {
		patience, err = grace, group.Kill(ctx)
	}
	err = errors.Join(err, i.process.Stop(ctx, patience), i.outer.Kill(ctx))
	if i.noted() || i.engine.Delete != nil && i.process.State() == killed {
		if deleted := i.delete(); deleted != nil && i.noted() {
			err = errors.Join(err, deleted)
		}
	}
	return err
}

// deleteWithin is how long the runtime may take to forget a container that is dead.
const deleteWithin = 5 * time.Second

// delete asks the runtime to forget the container. What its last command says counts.
func (i *instance) delete() error {
	ctx, cancel := context.WithTimeout(context.Background(), deleteWithin)
	defer cancel()
	var said string
	var err error
	for _, args := range i.engine.delete(i.site) {
		cmd := i.engine.command(i.launch, args)
		said, err = i.ask(ctx, cmd, cmd.Start)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%s delete: no end after %v%w", i.engine.Program, deleteWithin,
			bench.Hint("the runtime hangs; what it knew of the container goes with the run's directory"))
	}
	return fmt.Errorf("%s delete: %w: %s", i.engine.Program, err, strings.TrimSpace(said))
}

// killed is the state of a process that was killed.
const killed = "signal: killed"

// noted reports whether the runtime's notes still know the container.
func (i *instance) noted() bool {
	at, _ := filepath.Glob(filepath.Join(i.engine.state, i.launch.ID+"*"))
	return len(at) > 0
}
