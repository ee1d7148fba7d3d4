package native

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"tare/internal/bench"
	"tare/internal/guest/spawn"
	"tare/internal/host/cgroup"
	"tare/internal/platform/launch"
)

// takeBackWithin bounds the removal of what a failed start made.
const takeBackWithin = 30 * time.Second

// Start builds the instance and launches the agent in it. What comes before the
// launch (control groups, the overlay) is preparation; the platform's own
// start command is the execution of the agent.
func (e *engine) Start(ctx context.Context, l bench.Launch) (bench.Instance, error) {
	i := &instance{launch: l, group: e.host.Group(l.Group(e.env.Run)), log: filepath.Join(l.Dir, "words")}
	if err := e.start(ctx, i); err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeBackWithin)
		defer cancel()
		return nil, fmt.Errorf("start %s: %w", l.ID, errors.Join(err, i.undo.Run(ctx)))
	}
	return i, nil
}

func (e *engine) start(ctx context.Context, i *instance) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l := i.launch
	if len(l.CPUSet) == 0 {
		return fmt.Errorf("no CPUs: %w", bench.ErrInvalid)
	}
	netns, err := e.network(i)
	if err != nil {
		return err
	}
	limits := cgroup.LimitsOf(l.Shape, l.CPUSet)
	if limits.Disk, err = cgroup.DiskOf(l.Shape, l.Dir); err != nil {
		return err
	}
	_, unenforced, err := i.undo.Group(e.env.Ledger, e.host, i.group.Name(), limits)
	if err != nil {
		return err
	}
	i.unenforced = append(unenforced, bench.DiskSize) // a bind mount cannot enforce it
	scratch := filepath.Join(l.Dir, "scratch")
	if err := os.Mkdir(scratch, 0o755); err != nil {
		return err
	}
	i.command = []string{"chroot", e.root, spawn.AgentPath, "serve"}
	gone := func(context.Context) error { return nil } // with the group
	if err := i.undo.Register(e.env.Ledger, bench.KindProcess, l.ID, gone); err != nil {
		return err
	}
	return i.launchIn(ctx, spawn.Spec{
		Procs: i.group.ProcsFiles(), NetNS: netns, Root: e.root, Dir: l.Dir,
		Scratch: spawn.Bind{From: scratch, To: bench.ScratchDir}, Agent: e.env.AgentPath, CPUs: l.CPUSet,
	})
}

// network finds the namespace to run in, the test network's or a peer's, and the
// instance's address there.
func (e *engine) network(i *instance) (netns string, err error) {
	if netns = i.launch.NetNS; netns == "" {
		i.addr, err = launch.BridgeAddr(e.env.Testnet)
		return e.env.Testnet.NetNS(), err
	}
	err = launch.Apart(netns, func() (err error) {
		i.addr, err = firstAddr()
		return err
	})
	return netns, err
}

// firstAddr returns the first IPv4 address of the network namespace the thread
// is in, the loopback's excepted.
func firstAddr() (netip.Addr, error) {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return netip.Addr{}, err
	}
	for _, a := range list {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is4() && !p.Addr().IsLoopback() {
			return p.Addr(), nil
		}
	}
	return netip.Addr{}, errors.New("the network namespace has no address")
}

// launchIn starts the instance, waits until it is ready and lets it become the agent.
func (i *instance) launchIn(ctx context.Context, spec spawn.Spec) error {
	args, err := spec.Args()
	if err != nil {
		return err
	}
	cmd := exec.Command(spec.Agent, args...)
	cmd.Env = []string{bench.ProcessMark + "=" + i.launch.ID, "PATH=" + launch.SearchPath("")}
	if i.process, err = launch.StartHeld(ctx, cmd, i.log); err != nil {
		return fmt.Errorf("spawn: %w", err)
	}
	i.undo.Add(i.end)
	return nil
}
