package containerd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
	"tare/internal/platform/launch"
	"tare/internal/platform/oci"
)

// upWithin is how long the daemon may take to answer; on an idle machine it takes 0.1 s.
const upWithin = 60 * time.Second

// downWithin is how long it may take to end.
const downWithin = 10 * time.Second

// hidden is where the sockets of a system's containerd and its shims lie.
const hidden = "/run/containerd"

// daemon is a containerd of ours.
type daemon struct {
	env   bench.Env
	state string
	proc  *launch.Process
	undo  launch.Undo
}

// start starts containerd inside the test network, in a cgroup of its own, as a
// system's service manager would. The shims are born in it, and end with it.
func start(ctx context.Context, env bench.Env, state string) (oci.Service, error) {
	d := &daemon{env: env, state: state}
	if err := d.start(ctx); err != nil {
		return oci.Service{}, fmt.Errorf("start containerd: %w", d.undo.Fail(ctx, err))
	}
	pid := d.proc.PID()
	return oci.Service{Daemon: pid, Shared: []bench.Process{{PID: pid, Part: "containerd"}}, Close: d.undo.Run}, nil
}

func (d *daemon) start(ctx context.Context) error {
	path, err := launch.Program("containerd")
	if err != nil {
		return err
	}
	mark := d.env.Run + "-containerd"
	gone := func(context.Context) error { return nil } // with the cgroup
	if err := d.undo.Register(d.env.Ledger, bench.KindProcess, mark, gone); err != nil {
		return err
	}
	host, err := cgroup.Detect()
	if err != nil {
		return err
	}
	g, _, err := d.undo.Group(d.env.Ledger, host, d.env.Run+"/containerd", cgroup.Limits{})
	if err != nil {
		return err
	}
	if err := launch.Provide(&d.undo, d.env.Ledger, hidden); err != nil {
		return err
	}
	config := filepath.Join(d.state, "config.toml")
	if err := os.WriteFile(config, []byte(d.config()), 0o600); err != nil {
		return err
	}
	cmd := exec.Command(path, "--config", config, "--log-level", "warn")
	cmd.Env = []string{"PATH=" + launch.SearchPath(os.Getenv("PATH")), bench.ProcessMark + "=" + mark}
	err = launch.Apart(d.env.Testnet.NetNS(), func() (err error) {
		if err = launch.Hide(hidden); err != nil {
			return err
		}
		if err = launch.CoverControllers(host.Mode()); err != nil {
			return err
		}
		d.proc, err = launch.Start(cmd, d.log())
		return err
	})
	if err != nil {
		return err
	}
	d.undo.Add(d.end)
	if err := g.Add(d.proc.PID()); err != nil {
		return errors.Join(err, d.dead())
	}
	return d.awaitUp(ctx)
}

func (d *daemon) log() string { return filepath.Join(d.state, "containerd.log") }

// config leaves out what serves Kubernetes and other stores of layers.
func (d *daemon) config() string {
	return fmt.Sprintf("version = 2\nroot = %q\nstate = %q\n"+
		"disabled_plugins = [\"io.containerd.grpc.v1.cri\", \"io.containerd.internal.v1.opt\"]\n[grpc]\naddress = %q\n",
		filepath.Join(d.state, "root"), filepath.Join(d.state, "state"), socket(d.state))
}

func (d *daemon) awaitUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, upWithin)
	defer cancel()
	for {
		conn, err := net.Dial("unix", socket(d.state))
		if err == nil {
			return conn.Close()
		}
		select {
		case <-d.proc.Done():
			return d.dead()
		case <-ctx.Done():
			return fmt.Errorf("it does not answer: %w: %s%w", err, launch.Tail(d.log()), bench.Hint("is the containerd in the PATH its own? if the host is only busy, try again"))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// dead says how it ended, if it has; one that cannot be moved into its control group is just ending.
func (d *daemon) dead() error {
	select {
	case <-d.proc.Done():
		return fmt.Errorf("it died (%s): %s%w", d.proc.State(), strings.TrimSpace(launch.Tail(d.log())), bench.Hint("its last words are in the error; run containerd --version"))
	case <-time.After(time.Second):
		return nil
	}
}

// end asks the daemon to end, and kills it if it does not.
func (d *daemon) end(ctx context.Context) error {
	if err := d.proc.Terminate(); err != nil {
		return err
	}
	return d.proc.Stop(ctx, downWithin)
}
