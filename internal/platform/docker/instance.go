package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
	"tare/internal/platform/launch"
)

// instance is one container and the docker command in its foreground.
type instance struct {
	engine     *engine
	service    *service
	launch     bench.Launch
	run        *launch.Process
	command    []string
	unenforced []string
	disk       cgroup.Disk
	undo       launch.Undo

	mu    sync.Mutex
	found container.InspectResponse // once it runs
}

func (i *instance) log() string { return filepath.Join(i.launch.Dir, "docker.log") }

// group is the container's parent cgroup.
func (i *instance) group() string { return i.launch.Group(i.engine.env.Run) }

func (i *instance) scratch() string { return filepath.Join(i.launch.Dir, "scratch") }

// prepare makes the container's parent cgroup, whose CPU set has a bad one
// refused at once.
func (i *instance) prepare(ctx context.Context) error {
	e, l := i.engine, i.launch
	var err error
	if i.disk, err = cgroup.DiskOf(l.Shape, l.Dir); err != nil {
		return err
	}
	_, missing, err := i.undo.Group(e.env.Ledger, e.cgroups, i.group(), cgroup.LimitsAbove(l.Shape, l.CPUSet, i.disk))
	if err != nil {
		return err
	}
	i.unenforced = append(slices.Concat(missing, i.service.unenforced), bench.DiskSize)
	if i.disk == (cgroup.Disk{}) {
		i.unenforced = append(i.unenforced, cgroup.Throttles(l.Shape)...)
	}
	gone := func(context.Context) error { return nil } // stopped by then
	if err := i.undo.Register(e.env.Ledger, bench.KindProcess, l.ID, gone); err != nil {
		return err
	}
	if err := checkKata(l.Options); err != nil {
		return err
	}
	if err := available(ctx, l.Options["runtime"]); err != nil {
		return err
	}
	if l.Options["storage"] == "bind" {
		return os.Mkdir(i.scratch(), 0o777)
	}
	return nil
}

// args are those of docker run.
func (i *instance) args() []string {
	e := i.engine
	return runArgs(i.service.paths.host(), i.service.image, e.env.AgentPath, "/"+bench.CgroupRoot+"/"+i.group(), i.scratch(), i.disk.Path, e.addr, i.launch)
}

// start issues docker run.
func (i *instance) start() (err error) {
	i.command = append([]string{"docker"}, i.args()...)
	if i.run, err = launch.Start(i.service.command(i.engine.docker, i.args(), i.launch.ID), i.log()); err != nil {
		return err
	}
	i.undo.Add(i.end)
	return nil
}

func (i *instance) Stream() io.ReadWriteCloser { return i.run.Stream() }
func (i *instance) Launched() int64            { return i.run.Launched() }
func (i *instance) Trace() []bench.Span        { return i.run.Trace() }
func (i *instance) Relays() bool               { return true }
func (i *instance) Command() []string          { return i.command }
func (i *instance) Unenforced() []string       { return i.unenforced }
func (i *instance) HeldUp() bool               { return i.run.HeldUp() }

// inspect asks the daemon about the container, until it runs.
func (i *instance) inspect() (container.InspectResponse, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.found.State != nil {
		return i.found, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	res, err := i.service.api.ContainerInspect(ctx, i.launch.ID, client.ContainerInspectOptions{})
	if err != nil {
		return res.Container, fmt.Errorf("inspect container %s: %w", i.launch.ID, i.service.explain(err))
	}
	if res.Container.State == nil || res.Container.State.Pid == 0 {
		return res.Container, fmt.Errorf("inspect container %s: it is not running", i.launch.ID)
	}
	i.found = res.Container
	return i.found, nil
}

// Stored implements [bench.Storing]: the container's layer, and what the daemon keeps of it.
func (i *instance) Stored() ([]string, error) {
	c, err := i.inspect()
	if err != nil {
		return nil, err
	}
	if c.GraphDriver == nil || c.GraphDriver.Data["UpperDir"] == "" {
		return nil, fmt.Errorf("container %s: the storage driver %q does not say where its layer is: %w%w", i.launch.ID, i.service.paths.driver, bench.ErrUnavailable,
			bench.Hint("use driver=overlay2"))
	}
	return []string{filepath.Dir(c.GraphDriver.Data["UpperDir"]), filepath.Join(i.service.paths.data, "containers", c.ID)}, nil
}

// answerWithin bounds a question to the daemon.
const answerWithin = 10 * time.Second

// Addr is the container's own address, or the test network's with net=host or a published port.
func (i *instance) Addr() netip.Addr {
	net := i.launch.Options["net"]
	switch {
	case net == "host", publishes(i.launch) != 0:
		return i.engine.addr
	case net == "bridge":
		c, err := i.inspect()
		if err == nil && c.NetworkSettings != nil && c.NetworkSettings.Networks["bridge"] != nil {
			return c.NetworkSettings.Networks["bridge"].IPAddress
		}
	}
	return netip.Addr{}
}

// Scope finds the container's cgroups, its shim, the docker command that
// relays its streams, and its network device.
func (i *instance) Scope() (bench.Scope, error) {
	var s bench.Scope
	c, err := i.inspect()
	if err != nil {
		return s, err
	}
	pid := c.State.Pid
	fail := func(err error) (bench.Scope, error) {
		return bench.Scope{}, fmt.Errorf("scope of container %s: %w", i.launch.ID, err)
	}
	if err := i.serving(&s, c); err != nil {
		return fail(err)
	}
	if s.Shared, err = i.service.processes(); err != nil {
		return fail(err)
	}
	net := i.launch.Options["net"]
	if net != "host" {
		s.NetNS = fmt.Sprintf("/proc/%d/ns/net", pid)
	}
	if net == "bridge" {
		dev, err := launch.HostEnd(pid, "eth0", i.engine.env.Testnet.NetNS())
		if err != nil {
			return fail(err)
		}
		s.NetDevs = []string{dev}
	}
	return s, nil
}

// serving finds the container's cgroups and the processes that serve it alone.
func (i *instance) serving(s *bench.Scope, c container.InspectResponse) (err error) {
	pid, runtime := c.State.Pid, i.launch.Options["runtime"]
	client := bench.Process{PID: i.run.PID(), Part: "client"}
	group := i.engine.cgroups.Group(i.group())
	s.OwnKernel = runtime == "runsc" || runtime == kata
	if runtime == kata {
		s.Cgroups = group.Dirs() // where in it Kata puts what is its configuration's affair
		s.Helpers, err = kataHelpers("/proc", c.ID, pid)
		s.Helpers = append(s.Helpers, client)
		return err
	}
	if s.Cgroups, err = i.cgroups(pid); err != nil {
		return err
	}
	shim, err := launch.Parent(pid)
	if err != nil {
		return err
	}
	parts, err := launch.Parts(group, group, sandboxParts)
	s.Helpers = append([]bench.Process{{PID: shim, Part: "shim"}, client}, parts...)
	return err
}

// cgroups are those of the container's process that are its own: runsc makes
// none in the v2 hierarchy of a hybrid host.
func (i *instance) cgroups(pid int) (map[string]string, error) {
	of, err := i.engine.cgroups.Of(pid)
	for controller, dir := range of {
		if !strings.Contains(dir, "/"+i.group()+"/") {
			delete(of, controller)
		}
	}
	return of, err
}

// Log is the last the docker command and the daemon have printed.
func (i *instance) Log() string {
	var b strings.Builder
	if !i.run.Running() {
		fmt.Fprintf(&b, "docker run ended: %s\n", i.run.State())
	}
	b.WriteString(launch.Tail(i.log()))
	if err := i.service.check(); err != nil {
		fmt.Fprintln(&b, err)
	} else if words := i.service.lastWords(); words != "" {
		fmt.Fprintf(&b, "daemon: %s\n", words)
	}
	return b.String()
}

// Close removes the container.
func (i *instance) Close(ctx context.Context) error {
	if err := i.undo.Run(ctx); err != nil {
		return fmt.Errorf("close container %s: %w", i.launch.ID, err)
	}
	return nil
}

// End-of-life times: how long the daemon may take to remove a container, and
// the docker command to end once its container is gone.
const (
	removeWithin = 20 * time.Second
	clientGrace  = 2 * time.Second
)

// end kills and removes the container and waits for the docker command. If the
// command was still about to create the container, it is removed again after.
func (i *instance) end(ctx context.Context) error {
	err := i.remove(ctx)
	stopped := i.run.Stop(ctx, clientGrace)
	if err == nil {
		err = i.remove(ctx)
	}
	return errors.Join(err, stopped)
}

func (i *instance) remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, removeWithin)
	defer cancel()
	return i.service.removeContainer(ctx, i.launch.ID)
}
