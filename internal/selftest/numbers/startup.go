package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/analysis/stats"
	"tare/internal/bench"
	"tare/internal/guest/agent"
	"tare/internal/guest/spawn"
	"tare/internal/host/tree"
	"tare/internal/platform/launch"
	"tare/internal/selftest"
)

// calm is the pause before either launch. The kernel moves a process into a
// cgroup faster right after another was moved (rcu_sync in kernel/rcu/sync.c),
// such as by the end of the launch before.
const calm = 100 * time.Millisecond

// startup launches by Tare's driver and by a stopwatch of another process, in
// turn: the same command with the same configuration in the same directory and
// cgroup.
func startup(ctx context.Context, n *numbers) (found []selftest.Measured, err error) {
	s, err := n.open(ctx, "native", "lxc", "docker")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	platforms := []string{"native", "lxc", "docker"}
	byTare, outside := map[string][]float64{}, map[string][]float64{}
	pairs := n.repeat(40)
	for i := range pairs + 1 {
		for _, name := range platforms {
			a, b, err := s.pair(ctx, name)
			if err != nil {
				return nil, fmt.Errorf("start %s: %w", name, err)
			}
			n.say("  %s: %.2f ms by tare, %.2f ms outside", name, a, b)
			if i > 0 { // the first one fills caches
				byTare[name], outside[name] = append(byTare[name], a), append(outside[name], b)
			}
		}
	}
	for _, name := range platforms {
		off, interval, err := apart(byTare[name], outside[name])
		if err != nil {
			return nil, err
		}
		p := selftest.Promises[selftest.ReadyOutside]
		found = append(found, p.Measure(math.Abs(off) <= p.Limit, off, interval,
			fmt.Sprintf("%d pairs in turn, medians %.2f and %.2f ms", pairs, stats.Median(byTare[name]), stats.Median(outside[name])), "platform", name))
	}
	return found, nil
}

// apart is by how many percent the median of a is above that of b, with the interval of the pairs' ratios.
func apart(a, b []float64) (off float64, interval []float64, err error) {
	ratios := make([]float64, len(a))
	for i := range a {
		ratios[i] = a[i] / b[i]
	}
	in, err := stats.RatioInterval(ratios, 0.95)
	return 100 * (stats.Median(a)/stats.Median(b) - 1), []float64{100 * (in.Low - 1), 100 * (in.High - 1)}, err
}

// pair returns the time to the first byte from inside, in milliseconds, of a
// launch by Tare and of the next one by the stopwatch.
func (s *session) pair(ctx context.Context, platform string) (byTare, outside float64, err error) {
	shape := bench.Shape{CPUs: 1, Memory: 512 * bench.MiB, Disk: 256 * bench.MiB}
	l, err := s.launch(platform, shape, []int{lastCPU()})
	if err != nil {
		return 0, 0, err
	}
	defer tree.Remove(l.Dir)
	time.Sleep(calm)
	i, err := s.engines[platform].Start(ctx, l)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, i.Close(context.Background())) }()
	c, err := agent.Dial(ctx, i.Stream())
	if err != nil {
		return 0, 0, fmt.Errorf("%w: %s", err, i.Log())
	}
	byTare = float64(c.GreetedAt()-i.Launched()) / 1e6
	again, err := s.again(platform, l, i)
	if err != nil {
		return 0, 0, err
	}
	if err := c.Close(); err != nil { // the agent ends, and the instance with it
		return 0, 0, err
	}
	outside, err = again()
	return byTare, outside, err
}

// again returns what launches the instance once more, by the stopwatch, when
// it has ended. It is asked while the instance runs.
func (s *session) again(platform string, l bench.Launch, i bench.Instance) (func() (float64, error), error) {
	argv := i.Command()
	scope, err := i.Scope()
	if err != nil {
		return nil, err
	}
	ended, around := func() error { return nil }, func() error { return nil }
	w := watched{Argv: argv}
	switch platform {
	case "native":
		root := filepath.Join(l.Dir, "outside")
		w = watched{Argv: argv[2:], Root: root, CPUs: l.CPUSet} // chroot(1) is left out
		around = func() error { return s.containment(argv[1], root) }
	case "lxc":
		ended = func() error {
			if err := gone(scope.Helpers[0].PID); err != nil {
				return err
			}
			upper := filepath.Join(l.Dir, "upper") // as clean as the first time
			if err := tree.Remove(upper); err != nil {
				return err
			}
			return os.Mkdir(upper, 0o755)
		}
		around = func() error { return errors.Join(launch.FreshSysfs(), launch.Hide("/run/lxc")) }
	case "docker":
		ended = func() error {
			out, err := exec.Command("docker", "--host", s.socket(), "rm", "--force", l.ID).CombinedOutput()
			if err != nil {
				return fmt.Errorf("docker rm: %w: %s", err, out)
			}
			return gone(scope.Helpers[1].PID)
		}
	}
	return func() (ms float64, err error) {
		if err := ended(); err != nil {
			return 0, err
		}
		time.Sleep(calm)
		var read func() (float64, error)
		var end func() error
		err = launch.Apart(s.testnet.NetNS(), func() (err error) {
			if err = around(); err != nil {
				return err
			}
			read, end, err = w.press(l.ID, l.Dir)
			return err
		})
		if err != nil {
			return 0, err
		}
		ms, err = read()
		return ms, errors.Join(err, end())
	}, nil
}

// containment mounts what the native agent finds around it, without Tare's own code.
func (s *session) containment(image, root string) error {
	upper, work := root+".upper", root+".work"
	for _, d := range []string{root, upper, work} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return err
		}
	}
	if err := unix.Mount("overlay", root, "overlay", 0, "lowerdir="+image+",upperdir="+upper+",workdir="+work); err != nil {
		return err
	}
	for kind, dir := range map[string]string{"proc": "proc", "sysfs": "sys"} {
		if err := unix.Mount(kind, filepath.Join(root, dir), kind, 0, ""); err != nil {
			return err
		}
	}
	inside := filepath.Join(root, spawn.AgentPath)
	if err := os.WriteFile(inside, nil, 0o755); err != nil {
		return err
	}
	return unix.Mount(s.agent, inside, "", unix.MS_BIND, "")
}

// gone waits until the process has ended.
func gone(pid int) error {
	for range 500 {
		if err := unix.Kill(pid, 0); errors.Is(err, unix.ESRCH) {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("process %d does not end", pid)
}
