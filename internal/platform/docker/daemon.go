package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/moby/moby/client"

	"tare/internal/bench"
	"tare/internal/platform/launch"
)

// How long the daemon may take to answer after its start, and to end after
// SIGTERM. On an idle machine it takes one and two seconds.
const (
	upWithin   = 60 * time.Second
	downWithin = 15 * time.Second
)

// endsWithin is how long a daemon that broke its connections may take to end.
const endsWithin = time.Second

// hidden are directories of the host that the daemon neither sees nor changes. One that sees a
// system's containerd uses that, whose shims are then born outside of the test network; it looks for a user's plug-ins;
// it writes a key of its own, and its containerd makes directories for programs.
var hidden = []string{"/etc/docker", "/opt/containerd", "/run/containerd", "/run/docker"}

// daemon is a dockerd of ours.
type daemon struct {
	paths paths
	cmd   *exec.Cmd
	api   *client.Client
	done  chan struct{}
	err   error // of Wait, once done is closed
}

// newDaemon writes the daemon's configuration, which names the runtimes there are.
func newDaemon(ctx context.Context, p paths, programs []string) (*daemon, error) {
	path, err := launch.Program("dockerd")
	if err != nil {
		return nil, fmt.Errorf("%w: %w%w", err, bench.ErrUnavailable, install)
	}
	config, err := json.Marshal(map[string]any{"runtimes": runtimes(ctx, programs)})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(p.config(), config, 0o600); err != nil {
		return nil, err
	}
	api, err := client.New(client.WithHost(p.host()))
	if err != nil {
		return nil, err
	}
	return &daemon{paths: p, cmd: exec.Command(path, daemonArgs(p)...), api: api, done: make(chan struct{})}, nil
}

// start starts dockerd inside the test network, where alone its store, if it is a file
// system of its own, is mounted. It inherits the lock.
func (d *daemon) start(mark, netns, cgroups string, store *store, lock *os.File) error {
	log, err := launch.OpenLog(d.paths.log())
	if err != nil {
		return err
	}
	defer log.Given()
	d.cmd.Env = []string{"PATH=" + launch.SearchPath(os.Getenv("PATH")), bench.ProcessMark + "=" + mark}
	d.cmd.Stdout, d.cmd.Stderr = log.Pipe(), log.Pipe()
	d.cmd.ExtraFiles = []*os.File{lock}
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = launch.Apart(netns, func() error {
		for _, dir := range hidden {
			if err := launch.Hide(dir); err != nil {
				return err
			}
		}
		if err := launch.CoverControllers(cgroups); err != nil {
			return err
		}
		if err := store.mount(); err != nil {
			return err
		}
		return d.cmd.Start()
	})
	if err != nil {
		return fmt.Errorf("start docker's daemon: %w", err)
	}
	go func() {
		d.err = d.cmd.Wait()
		log.Sync()
		close(d.done)
	}()
	return nil
}

// command is the docker command for this daemon, with nothing of the user's own
// configuration.
func (d *daemon) command(docker string, args []string, mark string) *exec.Cmd {
	cmd := exec.Command(docker, args...)
	cmd.Env = []string{
		"PATH=" + launch.SearchPath(os.Getenv("PATH")),
		"DOCKER_CONFIG=" + d.paths.client(),
		bench.ProcessMark + "=" + mark,
	}
	return cmd
}

func (d *daemon) awaitUp(ctx context.Context, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		_, err := d.api.Ping(ctx, client.PingOptions{})
		if err == nil {
			return nil
		}
		select {
		case <-d.done:
			return d.dead()
		case <-ctx.Done():
			return fmt.Errorf("docker's daemon does not answer for %v: %w: %s%w", within, err, d.lastWords(), bench.Hint(
				"is "+d.cmd.Path+" Docker's own? if the host is only busy, try again"))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// check returns an error if the daemon has ended.
func (d *daemon) check() error {
	select {
	case <-d.done:
		return d.dead()
	default:
		return nil
	}
}

// explain adds to err, which came from an operation that needs the daemon,
// that the daemon is dead, if it is. Its connections break a moment before its
// process has ended.
func (d *daemon) explain(err error) error {
	if err == nil {
		return nil
	}
	select {
	case <-d.done:
		return fmt.Errorf("%w: %w", err, d.dead())
	case <-time.After(endsWithin):
		return err
	}
}

func (d *daemon) dead() error {
	state := "exit status 0"
	if d.err != nil {
		state = d.err.Error()
	}
	return fmt.Errorf("docker's daemon died (%s): %s%w", state, d.lastWords(), bench.Hint(
		"its last words are in the error; if it dies at every start, remove "+d.paths.data+" and try again"))
}

// lastWords are the daemon's last complaints, on one line. Its shims write
// into the same log, and at a level of their own.
func (d *daemon) lastWords() string { return complaints(launch.Tail(d.paths.log())) }

func complaints(log string) string {
	var lines []string
	for line := range strings.Lines(log) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.Contains(line, " level=info ") && !strings.Contains(line, " level=debug ") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-5):], " | ")
}

// stop ends the daemon, by force if it does not end by itself.
func (d *daemon) stop(ctx context.Context) error {
	d.api.Close()
	if d.check() != nil {
		return nil
	}
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop docker's daemon: %w", err)
	}
	select {
	case <-d.done:
		return nil
	case <-ctx.Done():
	case <-time.After(downWithin):
	}
	if err := d.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill docker's daemon: %w", err)
	}
	select {
	case <-d.done:
		return nil
	case <-time.After(downWithin):
		return fmt.Errorf("kill docker's daemon (process %d): still there after %v", d.cmd.Process.Pid, downWithin)
	}
}

// processes are the daemon and its containerd.
func (d *daemon) processes() ([]bench.Process, error) {
	list := []bench.Process{{PID: d.cmd.Process.Pid, Part: "daemon"}}
	children, err := launch.Children(d.cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	for _, c := range children {
		if c.Name == "containerd" {
			list = append(list, bench.Process{PID: c.PID, Part: "containerd"})
		}
	}
	return list, nil
}
