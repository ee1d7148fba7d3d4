package libvirt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
	"tare/internal/platform/launch"
)

// How long the daemon may take to answer after its start, and to end after
// SIGTERM. At its very first start it asks QEMU for its capabilities, some eight
// seconds; later it takes a fraction of one.
const (
	upWithin   = 90 * time.Second
	downWithin = 15 * time.Second
)

// qemuConf makes libvirt leave to us what the other drivers do: control groups,
// users, and where messages go.
const qemuConf = `user = "root"
group = "root"
dynamic_ownership = 0
remember_owner = 0
security_driver = "none"
security_default_confined = 0
cgroup_controllers = []
namespaces = []
stdio_handler = "file"
`

// daemonConf lets nobody else in. libvirt's own modes are 0777 for sockets of which none asks who calls.
const daemonConf = `auth_unix_ro = "none"
auth_unix_rw = "none"
unix_sock_ro_perms = "0700"
unix_sock_rw_perms = "0700"
unix_sock_admin_perms = "0700"
`

// daemon is a libvirtd of ours.
type daemon struct {
	run  string // its directory of this run, short: a socket's path is at most 107 bytes (unix(7))
	keep string // its directory kept between runs
	cmd  *exec.Cmd
	done chan struct{}
	err  error // of Wait, once done is closed
}

// dir is what the daemon has in place of one of [dirs].
func (d *daemon) dir(name string) string {
	if name == "cache" {
		return filepath.Join(d.keep, name)
	}
	return filepath.Join(d.run, name)
}

func (d *daemon) log() string { return filepath.Join(d.run, "libvirtd.log") }

// uri is how virsh reaches it.
func (d *daemon) uri() string {
	return "qemu+unix:///system?socket=" + filepath.Join(d.dir("run"), "libvirt-sock")
}

// virsh runs one of virsh's commands.
func (d *daemon) virsh(ctx context.Context, args ...string) ([]byte, error) {
	out, err := launch.Output(ctx, "virsh", d.args(args...)...)
	if err != nil {
		select {
		case <-d.done:
			return nil, fmt.Errorf("%w: libvirtd died: %s", err, launch.Tail(d.log()))
		default:
		}
	}
	return out, err
}

func (d *daemon) args(args ...string) []string {
	return append([]string{"--quiet", "--connect", d.uri()}, args...)
}

// hold locks what is kept between runs against its removal. The daemon inherits
// the file, so it stays locked until both are gone. Runs on several machines may
// share it: libvirtd puts each of its notes in place by a rename.
func hold(keep string) (*os.File, error) {
	if err := os.MkdirAll(keep, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(keep+".lock", os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = fmt.Errorf("being removed: %w%w", err, bench.Hint("try again when tare clean --all has ended"))
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return f, nil
}

// start starts libvirtd inside the test network and the control group, with directories of
// its own in place of the host's, and waits until it answers. At its first start it asks QEMU what it
// can do; that QEMU goes on alone and has no mark, so the group alone tells that it is ours.
func (d *daemon) start(ctx context.Context, mark string, group *cgroup.Group, netns string, held *os.File, within time.Duration) error {
	for name := range dirs {
		if err := os.MkdirAll(d.dir(name), 0o700); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{"qemu.conf": qemuConf, "libvirtd.conf": daemonConf} {
		if err := os.WriteFile(filepath.Join(d.dir("etc"), name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	path, err := launch.Program("libvirtd")
	if err != nil {
		return err
	}
	log, err := launch.OpenLog(d.log())
	if err != nil {
		return err
	}
	defer log.Given()
	d.cmd = exec.Command(path, "--config", filepath.Join(dirs["etc"], "libvirtd.conf"), "--pid-file", filepath.Join(d.run, "libvirtd.pid"))
	d.cmd.Env = []string{"PATH=" + launch.SearchPath(os.Getenv("PATH")), bench.ProcessMark + "=" + mark}
	d.cmd.Stdout, d.cmd.Stderr = log.Pipe(), log.Pipe()
	d.cmd.ExtraFiles = []*os.File{held}
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = launch.Apart(netns, func() error {
		for name, at := range dirs {
			if err := unix.Mount(d.dir(name), at, "", unix.MS_BIND, ""); err != nil {
				return fmt.Errorf("put %s in place of %s: %w", d.dir(name), at, err)
			}
		}
		return d.cmd.Start()
	})
	if err != nil {
		return fmt.Errorf("start libvirtd: %w", err)
	}
	d.done = make(chan struct{})
	go func() {
		d.err = d.cmd.Wait()
		log.Sync()
		close(d.done)
	}()
	if err := group.Add(d.cmd.Process.Pid); err != nil {
		return err
	}
	return d.awaitUp(ctx, within)
}

func (d *daemon) awaitUp(ctx context.Context, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		_, err := d.virsh(ctx, "version")
		if err == nil {
			return nil
		}
		select {
		case <-d.done:
			return fmt.Errorf("libvirtd died (%v): %s%w", d.err, strings.TrimSpace(launch.Tail(d.log())), bench.Hint("its last words are in the error; is it the libvirtd that virsh is made for?"))
		case <-ctx.Done():
			return fmt.Errorf("libvirtd does not answer: %w: %s%w", err, launch.Tail(d.log()), bench.Hint("is the libvirtd in the PATH its own? if the host is only busy, try again"))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// stop ends the daemon, by force if it does not end by itself. Its domains
// would live on.
func (d *daemon) stop(ctx context.Context) error {
	if d.done == nil {
		return nil
	}
	for _, how := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if err := d.cmd.Process.Signal(how); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("stop libvirtd: %w", err)
		}
		select {
		case <-d.done:
			return nil
		case <-ctx.Done():
		case <-time.After(downWithin):
		}
	}
	return fmt.Errorf("kill libvirtd (process %d): still there after %v", d.cmd.Process.Pid, downWithin)
}
