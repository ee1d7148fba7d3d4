package incus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
	"tare/internal/host/tree"
	"tare/internal/platform/launch"
)

// upWithin is how long the daemon may take to answer; on an idle machine it takes half a second.
const upWithin = 60 * time.Second

// lxcDir is where LXC leaves its lock files.
const lxcDir = "/run/lxc"

// pool is the storage pool of Incus's own, a directory.
const pool = "tare"

// engine is a daemon of ours. All its state is that of the run.
type engine struct {
	env     bench.Env
	state   string // INCUS_DIR
	image   string
	daemon  *launch.Process
	cgroups *cgroup.FS
	undo    launch.Undo
}

// Open starts incusd in the test network, in a control group of its own, and makes its storage pool.
func (Platform) Open(ctx context.Context, env bench.Env) (bench.Engine, error) {
	e := &engine{env: env, state: filepath.Join(bench.RuntimeDir, env.Run, "incus")}
	if err := e.open(ctx); err != nil {
		return nil, fmt.Errorf("open incus: %w", e.undo.Fail(ctx, err))
	}
	return e, nil
}

// Reads implements [bench.Reading].
func (e *engine) Reads() []string { return []string{e.image} }

func (e *engine) open(ctx context.Context) (err error) {
	if e.image, err = e.env.Image.Root(ctx); err != nil {
		return err
	}
	if e.cgroups, err = cgroup.Detect(); err != nil {
		return err
	}
	program, err := daemonProgram()
	if err != nil {
		return fmt.Errorf("%w: %w%w", err, bench.ErrUnavailable, install)
	}
	for _, dir := range []string{e.state, e.config()} {
		if err := os.MkdirAll(dir, 0o711); err != nil {
			return err
		}
	}
	if err := launch.Provide(&e.undo, e.env.Ledger, lxcDir); err != nil {
		return err
	}
	mark := e.env.Run + "-incus"
	gone := func(context.Context) error { return nil } // with the group
	if err := e.undo.Register(e.env.Ledger, bench.KindProcess, mark, gone); err != nil {
		return err
	}
	g, _, err := e.undo.Group(e.env.Ledger, e.cgroups, e.env.Run+"/incus", cgroup.Limits{})
	if err != nil {
		return err
	}
	cmd := exec.Command(program, "--verbose")
	cmd.Env = append(e.vars(), bench.ProcessMark+"="+mark)
	err = launch.Apart(e.env.Testnet.NetNS(), func() (err error) {
		if err = e.surround(); err != nil {
			return err
		}
		e.daemon, err = launch.Start(cmd, e.log())
		return err
	})
	if err != nil {
		return err
	}
	e.undo.Add(func(ctx context.Context) error { return e.daemon.Stop(ctx, 0) }) // nothing it knows is worth keeping
	if err := g.Add(e.daemon.PID()); err != nil {
		return err
	}
	if err := e.awaitUp(ctx); err != nil {
		return err
	}
	_, err = e.ask(ctx, nil, "storage", "create", pool, "dir")
	return err
}

// surround makes what only the daemon sees: the image with the owners that its
// containers find, its own directory where they may search for it, and a grant of those ids to root (subuid(5)), which Incus insists on.
func (e *engine) surround() error {
	if err := launch.FreshSysfs(); err != nil {
		return err
	}
	if err := launch.Hide(lxcDir); err != nil {
		return err
	}
	if err := launch.MapIDs(e.image); err != nil {
		return err
	}
	if err := launch.Show(bench.RuntimeDir, e.state); err != nil {
		return err
	}
	grant := filepath.Join(e.state, "grant")
	if err := os.WriteFile(grant, fmt.Appendf(nil, "root:%d:%d\n", launch.FirstID, launch.IDs), 0o644); err != nil {
		return err
	}
	for _, file := range []string{"/etc/subuid", "/etc/subgid"} {
		if err := unix.Mount(grant, file, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("show incusd its ids in %s: %w%w", file, err, bench.Hint("install uidmap, or make an empty file"))
		}
	}
	return nil
}

func (e *engine) config() string { return filepath.Join(e.state, "client") }
func (e *engine) log() string    { return filepath.Join(e.state, "words") }

// vars are the environment of daemon and client: nothing of a user's Incus is in it.
func (e *engine) vars() []string {
	return []string{"PATH=" + launch.SearchPath(os.Getenv("PATH")), "INCUS_DIR=" + e.state, "INCUS_CONF=" + e.config(), "HOME=" + e.config()}
}

// awaitUp waits until the daemon answers.
func (e *engine) awaitUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, e.env.Patience(upWithin))
	defer cancel()
	for {
		_, err := e.ask(ctx, nil, "query", "/1.0")
		if err == nil {
			return nil
		}
		select {
		case <-e.daemon.Done():
			return fmt.Errorf("incusd died (%s): %s", e.daemon.State(), launch.Tail(e.log()))
		case <-ctx.Done():
			return fmt.Errorf("incusd does not answer: %w: %s", err, launch.Tail(e.log()))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// ask runs the client and returns what it prints.
func (e *engine) ask(ctx context.Context, input []byte, args ...string) ([]byte, error) {
	path, err := launch.Program(client)
	if err != nil {
		return nil, fmt.Errorf("%w: %w%w", err, bench.ErrUnavailable, install)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = e.vars()
	cmd.Stdin = bytes.NewReader(input)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("incus %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(said.Bytes()))
	}
	return out, nil
}

// Start runs one container.
func (e *engine) Start(ctx context.Context, l bench.Launch) (bench.Instance, error) {
	i := &instance{engine: e, launch: l}
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

// Close ends the daemon; its state goes with the run's.
func (e *engine) Close(ctx context.Context) error {
	if err := errors.Join(e.undo.Run(ctx), tree.Remove(e.state)); err != nil {
		return fmt.Errorf("close incus: %w", err)
	}
	return nil
}
