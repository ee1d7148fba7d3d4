package lxc

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
	"tare/internal/platform/launch"
)

// engine holds what the containers of a run share: no process, only paths.
type engine struct {
	env     bench.Env
	program string // lxc-execute
	image   string
	cgroups *cgroup.FS
	addr    netip.Addr
	undo    launch.Undo
}

// Open looks for the image and the programs; LXC has no daemon.
func (Platform) Open(ctx context.Context, env bench.Env) (bench.Engine, error) {
	e := &engine{env: env}
	if err := e.open(ctx); err != nil {
		return nil, fmt.Errorf("open lxc: %w", e.undo.Fail(ctx, err))
	}
	return e, nil
}

func (e *engine) open(ctx context.Context) (err error) {
	if e.program, err = launch.Program("lxc-execute"); err != nil {
		return fmt.Errorf("%w: %w%w", err, bench.ErrUnavailable, install)
	}
	if e.cgroups, err = cgroup.Detect(); err != nil {
		return err
	}
	if e.addr, err = launch.BridgeAddr(e.env.Testnet); err != nil {
		return err
	}
	if e.image, err = e.env.Image.Root(ctx); err != nil {
		return err
	}
	if _, err := os.Stat(e.image); err != nil {
		return fmt.Errorf("image: %w%w", err, bench.Hint("build it again: tare image build"))
	}
	return launch.Provide(&e.undo, e.env.Ledger, runtimeDir)
}

// Reads implements [bench.Reading].
func (e *engine) Reads() []string { return []string{e.image} }

// Start runs one container.
func (e *engine) Start(ctx context.Context, l bench.Launch) (bench.Instance, error) {
	i := e.instance(l)
	err := ctx.Err()
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

func (e *engine) instance(l bench.Launch) *instance {
	return &instance{engine: e, container: container{
		launch: l, image: e.image, agent: e.env.AgentPath, group: bench.CgroupRoot + "/" + l.Group(e.env.Run),
		bridge: e.env.Testnet.Bridge(), v2: e.cgroups.Mode() == "v2",
	}}
}

// programOf returns the program that runs the container.
func (e *engine) programOf(c container) string {
	if c.boots() {
		return filepath.Join(filepath.Dir(e.program), "lxc-start")
	}
	return e.program
}

// command is lxc-execute or lxc-start for the container.
func (e *engine) command(c container) *exec.Cmd {
	cmd := exec.Command(e.programOf(c), c.args()...)
	path := launch.SearchPath(os.Getenv("PATH"))
	if c.unprivileged() {
		// With newuidmap in reach LXC leaves the mapping to it, which only grants
		// what /etc/subuid lists; root needs no leave.
		path = "/nowhere"
	}
	cmd.Env = []string{"PATH=" + path, bench.ProcessMark + "=" + c.launch.ID}
	return cmd
}

// Close removes LXC's directory of locks if it was not there.
func (e *engine) Close(ctx context.Context) error { return e.undo.Run(ctx) }
