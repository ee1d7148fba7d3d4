package lxc

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"time"

	"tare/internal/bench"
	"tare/internal/cgroup"
	"tare/internal/platform/launch"
)

// engine holds what the containers of a run share: no process, only paths.
type engine struct {
	env     bench.Env
	program string // lxc-execute
	image   string
	cgroups *cgroup.FS
	labAddr netip.Addr
}

// Open looks for the image and the programs; LXC has no daemon.
func (Platform) Open(ctx context.Context, env bench.Env) (bench.Engine, error) {
	e := &engine{env: env}
	if err := e.open(ctx); err != nil {
		return nil, fmt.Errorf("open lxc: %w", err)
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
	if e.labAddr, err = launch.BridgeAddr(e.env.Lab); err != nil {
		return err
	}
	e.image, err = e.env.Image.Root(ctx)
	return err
}

// Start runs one container.
func (e *engine) Start(ctx context.Context, l bench.Launch) (bench.Instance, error) {
	i := &instance{engine: e, container: container{
		launch: l, image: e.image, agent: e.env.AgentPath, group: bench.CgroupRoot + "/" + e.env.Run + "/" + l.ID,
		bridge: e.env.Lab.Bridge(), v2: e.cgroups.Mode() == "v2",
	}}
	if err := i.start(); err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeBackWithin)
		defer cancel()
		return nil, fmt.Errorf("start %s: %w", l.ID, errors.Join(err, i.undo.Run(ctx)))
	}
	return i, nil
}

// takeBackWithin bounds the clean-up after a failed start, which goes on when
// the caller's context is done.
const takeBackWithin = time.Minute

// command is lxc-execute for the container.
func (e *engine) command(c container) *exec.Cmd {
	cmd := exec.Command(e.program, c.args()...)
	cmd.Env = []string{"PATH=" + launch.SearchPath(os.Getenv("PATH")), bench.ProcessMark + "=" + c.launch.ID}
	return cmd
}

// Close has nothing to do: nothing is shared.
func (e *engine) Close(context.Context) error { return nil }
