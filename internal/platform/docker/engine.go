package docker

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
	"tare/internal/host/tree"
	"tare/internal/platform/launch"
)

// engine is the daemons of one run, one for each storage driver in use.
type engine struct {
	env     bench.Env
	state   string
	docker  string // the docker command
	cgroups *cgroup.FS
	addr    netip.Addr

	mu       sync.Mutex // held while undo grows
	services map[string]*service
	undo     launch.Undo
}

// service is a daemon that is up and has the image.
type service struct {
	*daemon
	image      string
	imported   time.Duration // how long the image took to import, 0 if it was there
	unenforced []string
}

// Imported implements [bench.Importing].
func (e *engine) Imported() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s := e.services[drivers[0]]; s != nil {
		return s.imported
	}
	return 0
}

// Open starts the daemon of the default storage driver and imports the image
// if it is not there yet.
func (p *Platform) Open(ctx context.Context, env bench.Env) (bench.Engine, error) {
	e := &engine{env: env, state: p.state, services: map[string]*service{}}
	if err := e.open(ctx); err != nil {
		return nil, fmt.Errorf("open docker: %w", e.undo.Fail(ctx, err))
	}
	return e, nil
}

func (e *engine) open(ctx context.Context) (err error) {
	if e.docker, err = launch.Program("docker"); err != nil {
		return fmt.Errorf("%w: %w%w", err, bench.ErrUnavailable, install)
	}
	if _, err := e.env.Image.Root(ctx); err != nil { // before a daemon is started for it
		return err
	}
	if e.cgroups, err = cgroup.Detect(); err != nil {
		return err
	}
	if e.addr, err = launch.BridgeAddr(e.env.Testnet); err != nil {
		return err
	}
	for _, dir := range hidden {
		if err := launch.Provide(&e.undo, e.env.Ledger, dir); err != nil {
			return err
		}
	}
	_, err = e.service(ctx, drivers[0])
	return err
}

// service returns the daemon of the storage driver, and starts it if need be.
func (e *engine) service(ctx context.Context, driver string) (*service, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s := e.services[driver]; s != nil {
		return s, s.check()
	}
	before := e.undo
	e.undo = launch.Undo{}
	s, err := e.serve(ctx, driver)
	if err != nil {
		err = e.undo.Fail(ctx, err)
		e.undo = before
		return nil, err
	}
	started := e.undo
	e.undo = before
	e.undo.Add(started.Run)
	e.services[driver] = s
	return s, nil
}

func (e *engine) serve(ctx context.Context, driver string) (*service, error) {
	p := runPaths(e.state, e.env.Run, driver)
	if err := os.MkdirAll(p.data, 0o711); err != nil {
		return nil, err
	}
	removeRun := func(context.Context) error { return tree.Remove(p.run) }
	if err := e.undo.Register(e.env.Ledger, bench.KindDir, p.run, removeRun); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(p.client(), 0o700); err != nil {
		return nil, err
	}
	held, err := lock(ctx, p.data+".lock", patience)
	if err != nil {
		return nil, err
	}
	e.undo.Add(func(context.Context) error { return held.Close() })
	s := &service{}
	if s.daemon, err = e.startDaemon(ctx, p, held); err != nil {
		return nil, err
	}
	if err := e.env.Testnet.Settle(ctx); err != nil {
		return nil, err
	}
	info, err := s.api.Info(ctx, client.InfoOptions{})
	if err != nil {
		return nil, fmt.Errorf("ask for docker's limits: %w", s.explain(err))
	}
	s.unenforced = unenforced(info.Info)
	if err := s.removeContainers(ctx); err != nil {
		return nil, err
	}
	s.image, s.imported, err = s.provide(ctx, e.env.Image)
	return s, err
}

// startDaemon starts the daemon in a cgroup of its own, as a system's service
// manager would. Its containerd and the shims are born in it, and end with it.
func (e *engine) startDaemon(ctx context.Context, p paths, held *os.File) (*daemon, error) {
	mark := e.env.Run + "-" + p.name
	gone := func(context.Context) error { return nil } // with the cgroup
	if err := e.undo.Register(e.env.Ledger, bench.KindProcess, mark, gone); err != nil {
		return nil, err
	}
	g, _, err := e.undo.Group(e.env.Ledger, e.cgroups, e.env.Run+"/"+p.name, cgroup.Limits{})
	if err != nil {
		return nil, err
	}
	store, err := e.provideStore(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := e.provideBridge(p); err != nil {
		return nil, err
	}
	d, err := newDaemon(ctx, p, e.env.Programs)
	if err != nil {
		return nil, err
	}
	if err := d.start(mark, e.env.Testnet.NetNS(), e.cgroups.Mode(), store, held); err != nil {
		return nil, err
	}
	e.undo.Add(d.stop)
	if err := g.Add(d.cmd.Process.Pid); err != nil {
		return nil, d.explain(err)
	}
	return d, d.awaitUp(ctx, e.env.Patience(upWithin))
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

// Reads implements [bench.Reading]: the daemons' own copies of the image.
func (e *engine) Reads() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var dirs []string
	for _, s := range e.services {
		dirs = append(dirs, s.paths.data)
	}
	return dirs
}

// Start runs one container.
func (e *engine) Start(ctx context.Context, l bench.Launch) (bench.Instance, error) {
	i := &instance{engine: e, launch: l}
	err := ctx.Err()
	if err == nil {
		i.service, err = e.service(ctx, l.Options["driver"])
	}
	if err == nil {
		err = i.prepare(ctx)
	}
	if err == nil {
		err = i.start()
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", l.ID, i.undo.Fail(ctx, err))
	}
	return i, nil
}

// Close stops the daemons and whatever they have started.
func (e *engine) Close(ctx context.Context) error {
	if err := e.undo.Run(ctx); err != nil {
		return fmt.Errorf("close docker: %w", err)
	}
	return nil
}
