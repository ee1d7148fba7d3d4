package docker

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"

	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"

	"tare/internal/bench"
	"tare/internal/cgroup"
	"tare/internal/platform/launch"
)

// engine is the daemon of one run.
type engine struct {
	env        bench.Env
	docker     string // the docker command
	daemon     *daemon
	cgroups    *cgroup.FS
	labAddr    netip.Addr
	image      string
	unenforced []string
	undo       launch.Undo
}

// Open starts the daemon and imports the image if it is not there yet.
func (p *Platform) Open(ctx context.Context, env bench.Env) (bench.Engine, error) {
	e := &engine{env: env}
	if err := e.open(ctx, p.state); err != nil {
		return nil, fmt.Errorf("open docker: %w", e.undo.Fail(ctx, err))
	}
	return e, nil
}

func (e *engine) open(ctx context.Context, state string) (err error) {
	if e.docker, err = launch.Program("docker"); err != nil {
		return fmt.Errorf("%w: %w%w", err, bench.ErrUnavailable, install)
	}
	if _, err := e.env.Image.Root(ctx); err != nil { // before a daemon is started for it
		return err
	}
	if e.cgroups, err = cgroup.Detect(); err != nil {
		return err
	}
	if e.labAddr, err = launch.BridgeAddr(e.env.Lab); err != nil {
		return err
	}
	p := runPaths(state, e.env.Run)
	if err := os.MkdirAll(p.data, 0o711); err != nil {
		return err
	}
	removeRun := func(context.Context) error { return os.RemoveAll(p.run) }
	if err := e.undo.Register(e.env.Ledger, bench.KindDir, p.run, removeRun); err != nil {
		return err
	}
	if err := os.MkdirAll(p.client(), 0o700); err != nil {
		return err
	}
	held, err := lock(ctx, p.data+".lock", patience)
	if err != nil {
		return err
	}
	e.undo.Add(func(context.Context) error { return held.Close() })
	if err := e.startDaemon(ctx, p, held); err != nil {
		return err
	}
	if err := e.env.Lab.Settle(ctx); err != nil {
		return err
	}
	info, err := e.daemon.api.Info(ctx, client.InfoOptions{})
	if err != nil {
		return fmt.Errorf("ask for docker's limits: %w", e.daemon.explain(err))
	}
	e.unenforced = unenforced(info.Info)
	if err := e.daemon.removeContainers(ctx); err != nil {
		return err
	}
	e.image, err = e.daemon.provide(ctx, e.env.Image)
	return err
}

// startDaemon starts the daemon in a cgroup of its own, as a system's service
// manager would. Its containerd and the shims are born in it, and end with it.
func (e *engine) startDaemon(ctx context.Context, p paths, held *os.File) error {
	mark := e.env.Run + "-docker"
	gone := func(context.Context) error { return nil } // with the cgroup
	if err := e.undo.Register(e.env.Ledger, bench.KindProcess, mark, gone); err != nil {
		return err
	}
	group := e.env.Run + "/docker"
	remove := func(ctx context.Context) error { return cgroup.Remove(ctx, group) }
	if err := e.undo.Register(e.env.Ledger, bench.KindCgroup, group, remove); err != nil {
		return err
	}
	g, _, err := e.cgroups.Create(group, cgroup.Limits{})
	if err != nil {
		return err
	}
	if e.daemon, err = newDaemon(p); err != nil {
		return err
	}
	if err := e.daemon.start(mark, e.env.Lab.NetNS(), held); err != nil {
		return err
	}
	e.undo.Add(e.daemon.stop)
	if err := g.Add(e.daemon.cmd.Process.Pid); err != nil {
		return err
	}
	return e.daemon.awaitUp(ctx, e.env.Patience(upWithin))
}

// unenforced are the limits this daemon cannot set on this kernel.
func unenforced(info system.Info) []string {
	var list []string
	for _, limit := range []struct {
		ok   bool
		name string
	}{
		{info.CPUSet, "cpu set"}, {info.CPUCfsQuota, "cpu quota"},
		{info.MemoryLimit, "memory limit"}, {info.PidsLimit, "pids limit"},
	} {
		if !limit.ok {
			list = append(list, limit.name)
		}
	}
	return list
}

// Start runs one container.
func (e *engine) Start(ctx context.Context, l bench.Launch) (bench.Instance, error) {
	if err := e.daemon.check(); err != nil {
		return nil, fmt.Errorf("start %s: %w", l.ID, err)
	}
	i := &instance{engine: e, launch: l}
	err := ctx.Err()
	if err == nil {
		err = i.prepare()
	}
	if err == nil {
		err = i.start()
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", l.ID, i.undo.Fail(ctx, err))
	}
	return i, nil
}

// command is docker run for the launch, with nothing of the user's own
// configuration.
func (e *engine) command(args []string, mark string) *exec.Cmd {
	cmd := exec.Command(e.docker, args...)
	cmd.Env = []string{
		"PATH=" + launch.SearchPath(os.Getenv("PATH")),
		"DOCKER_CONFIG=" + e.daemon.paths.client(),
		bench.ProcessMark + "=" + mark,
	}
	return cmd
}

// Close stops the daemon and whatever it has started.
func (e *engine) Close(ctx context.Context) error {
	if err := e.undo.Run(ctx); err != nil {
		return fmt.Errorf("close docker: %w", err)
	}
	return nil
}
