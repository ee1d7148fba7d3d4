package native

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/cage"
	"tare/internal/cgroup"
	"tare/internal/clock"
)

// diskSize is what a bind mount cannot enforce.
const diskSize = "disk size"

// Start builds the cage and launches the agent in it. What comes before the
// launch (control groups, the overlay) is preparation; the platform's own
// start command is the execution of the agent.
func (e *engine) Start(ctx context.Context, l bench.Launch) (bench.Instance, error) {
	in := &instance{id: l.ID, group: e.host.Group(e.env.Run + "/" + l.ID), ledger: e.env.Ledger, netns: l.NetNS}
	if err := e.start(ctx, l, in); err != nil {
		return nil, errors.Join(fmt.Errorf("start native %s: %w", l.ID, err), in.Close(context.WithoutCancel(ctx)))
	}
	return in, nil
}

func (e *engine) start(ctx context.Context, l bench.Launch, in *instance) error {
	if len(l.CPUSet) == 0 {
		return fmt.Errorf("no CPUs: %w", bench.ErrInvalid)
	}
	netns, device := e.env.Lab.NetNS(), e.env.Lab.Bridge()
	if l.NetNS != "" {
		netns, device = l.NetNS, ""
	}
	var err error
	if in.addr, err = addressOf(netns, device); err != nil {
		return err
	}
	if err := e.env.Ledger.Register(bench.KindCgroup, in.group.Name()); err != nil {
		return err
	}
	if in.group, in.unenforced, err = e.host.Create(in.group.Name(), cgroup.LimitsOf(l.Shape, l.CPUSet)); err != nil {
		in.group = e.host.Group(e.env.Run + "/" + l.ID)
		return err
	}
	in.unenforced = append(in.unenforced, diskSize)
	scratch := filepath.Join(l.Dir, "scratch")
	if err := os.Mkdir(scratch, 0o777); err != nil {
		return err
	}
	spec := cage.Spec{
		Procs: in.group.ProcsFiles(), NetNS: netns, Root: e.root, Dir: l.Dir,
		Scratch: scratch, Agent: e.env.AgentPath, CPUs: l.CPUSet,
	}
	in.command = []string{"chroot", e.root, cage.AgentPath, "serve"}
	if err := e.env.Ledger.Register(bench.KindProcess, l.ID); err != nil {
		return err
	}
	return in.launch(ctx, spec)
}

// launch starts the cage, waits until it is ready and lets it become the agent.
func (in *instance) launch(ctx context.Context, spec cage.Spec) error {
	args, err := spec.Args()
	if err != nil {
		return err
	}
	control, theirs, err := socketPair()
	if err != nil {
		return err
	}
	defer control.Close()
	cmd := exec.Command(spec.Agent, args...)
	cmd.Env = []string{bench.ProcessMark + "=" + in.id, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.Stderr = &in.said
	if err := in.connect(cmd); err != nil {
		return errors.Join(err, theirs.Close())
	}
	err = cmd.Start()
	theirs.Close()
	in.started(cmd, err)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { control.Close() })
	defer stop()
	word, err := bufio.NewReader(control).ReadString('\n')
	if ctx.Err() != nil {
		return fmt.Errorf("wait for the cage: %w", context.Cause(ctx))
	}
	if word = strings.TrimSpace(word); word != cage.Ready {
		return fmt.Errorf("the cage is not ready: %s", cmp.Or(word, in.said.String(), fmt.Sprint(err)))
	}
	in.launched = clock.Now()
	if _, err := control.Write([]byte{1}); err != nil {
		return fmt.Errorf("launch: %w", err)
	}
	return nil
}

// socketPair returns two files connected with each other.
func socketPair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make socket pair: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "control"), os.NewFile(uintptr(fds[1]), "control"), nil
}
