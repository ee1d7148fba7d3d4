package oci

import (
	"context"
	"fmt"
	"net/netip"
	"os/exec"
	"path/filepath"

	"tare/internal/bench"
	"tare/internal/cgroup"
	"tare/internal/platform/launch"
)

// engine holds what the containers of a run share: no process, only paths.
type engine struct {
	Runtime
	env     bench.Env
	path    string // of the runtime
	state   string // where the runtime keeps its own notes, see --root
	image   string // the golden root, the lower layer
	cgroups *cgroup.FS
	labAddr netip.Addr
}

// Open looks for the runtime and the image; nothing runs between launches.
func (p *Platform) Open(ctx context.Context, env bench.Env) (bench.Engine, error) {
	e := &engine{Runtime: p.runtime, env: env, state: filepath.Join(bench.RuntimeDir, env.Run, p.runtime.Name)}
	if err := e.open(ctx); err != nil {
		return nil, fmt.Errorf("open %s: %w", p.runtime.Name, err)
	}
	return e, nil
}

func (e *engine) open(ctx context.Context) (err error) {
	if e.path, err = launch.Program(e.Program); err != nil {
		return fmt.Errorf("%w: %w%w", err, bench.ErrUnavailable, e.Install)
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
	i := e.instance(l)
	err := i.prepare(ctx)
	if err == nil {
		err = i.start()
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", l.ID, i.undo.Fail(ctx, err))
	}
	return i, nil
}

func (e *engine) instance(l bench.Launch) *instance {
	return &instance{
		engine: e, launch: l, addr: e.labAddr,
		outer: e.cgroups.Group(e.env.Run + "/" + l.ID),
		group: e.cgroups.Group(e.env.Run + "/" + l.ID + "/container"),
	}
}

// command is the runtime with its verb, by the mark known as the launch's.
func (e *engine) command(mark string, args []string) *exec.Cmd {
	cmd := exec.Command(e.path, args...)
	cmd.Env = []string{"PATH=" + launch.SearchPath(""), bench.ProcessMark + "=" + mark}
	return cmd
}

// args are the runtime's arguments for a verb.
func (e *engine) args(options map[string]string, verb ...string) []string {
	args := []string{"--root", e.state}
	if e.Flags != nil {
		args = append(args, e.Flags(options)...)
	}
	return append(args, verb...)
}

// Close has nothing to do: the state directory goes with the lab's.
func (e *engine) Close(context.Context) error { return nil }
