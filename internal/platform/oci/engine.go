package oci

import (
	"cmp"
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
	Runtime
	env     bench.Env
	path    string // of the runtime
	state   string // where the runtime keeps its own notes, see --root
	image   string // the golden root, the lower layer
	service Service
	cgroups *cgroup.FS
	addr    netip.Addr
}

// Open looks for the runtime and the image; nothing runs between launches.
func (p *Platform) Open(ctx context.Context, env bench.Env) (bench.Engine, error) {
	e := &engine{Runtime: p.runtime, env: env, state: filepath.Join(bench.RuntimeDir, env.Run, p.runtime.Name)}
	var err error
	if p.without == nil { // otherwise every launch chooses a program
		if e.path, err = launch.Program(e.Program); err != nil {
			return nil, fmt.Errorf("open %s: %w: %w%w", e.Name, err, bench.ErrUnavailable, e.Install)
		}
	}
	if err := e.open(ctx); err != nil {
		return nil, fmt.Errorf("open %s: %w", p.runtime.Name, err)
	}
	return e, nil
}

func (e *engine) open(ctx context.Context) (err error) {
	if e.cgroups, err = cgroup.Detect(); err != nil {
		return err
	}
	if e.addr, err = launch.BridgeAddr(e.env.Testnet); err != nil {
		return err
	}
	if e.image, err = e.env.Image.Root(ctx); err != nil {
		return err
	}
	if err := os.MkdirAll(e.state, 0o700); err != nil {
		return err
	}
	if e.Setup != nil {
		e.service, err = e.Setup(ctx, e.env, e.state)
	}
	return err
}

// Reads implements [bench.Reading].
func (e *engine) Reads() []string { return []string{e.image} }

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
		engine: e, launch: l, addr: e.addr,
		outer: e.cgroups.Group(l.Group(e.env.Run)),
	}
}

// program is what runs a launch: the runtime, or the build of it that the launch chooses.
func (e *engine) program(l bench.Launch) string {
	if e.Chooses {
		return cmp.Or(l.Options[bench.ProgramOption], e.path)
	}
	return e.path
}

// command is the runtime with its verb, by the mark known as the launch's.
func (e *engine) command(l bench.Launch, args []string) *exec.Cmd {
	cmd := exec.Command(e.program(l), args...)
	cmd.Env = append([]string{"PATH=" + launch.SearchPath(os.Getenv("PATH")), bench.ProcessMark + "=" + l.ID}, e.service.Vars...)
	return cmd
}

// run are the runtime's arguments to run the container.
func (e *engine) run(s Site) []string {
	if e.Run != nil {
		return e.Run(s)
	}
	return e.args(s, "run", "--bundle", s.Bundle, s.Launch.ID)
}

// delete are those that make it forget the container.
func (e *engine) delete(s Site) [][]string {
	if e.Delete != nil {
		return e.Delete(s)
	}
	return [][]string{e.args(s, "delete", "--force", s.Launch.ID)}
}

func (e *engine) args(s Site, verb ...string) []string {
	args := []string{"--root", s.State}
	if e.Flags != nil {
		args = append(args, e.Flags(s.Launch.Options)...)
	}
	return append(args, verb...)
}

// Close ends the service, if there is one; the state directory goes with the test network's.
func (e *engine) Close(ctx context.Context) error {
	if e.service.Close == nil {
		return nil
	}
	if err := e.service.Close(ctx); err != nil {
		return fmt.Errorf("close %s: %w", e.Name, err)
	}
	return nil
}
