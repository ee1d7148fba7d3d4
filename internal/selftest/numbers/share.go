package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tare/internal/analysis/stats"
	"tare/internal/bench"
	"tare/internal/guest/agent"
	"tare/internal/host/clock"
	"tare/internal/host/tree"
	"tare/internal/platform/all"
	"tare/internal/run/trace"
	"tare/internal/selftest"
)

// wrapped are the platforms whose start command is one program that prints the
// agent's first byte, or of which QEMU's socket gives it, with that program.
var wrapped = map[string]string{
	"bwrap": "bwrap", "nspawn": "systemd-nspawn", "crun": "crun", "runc": "runc", "lxc": "lxc-execute", "containerd": "ctr",
	"podman": "podman", "docker": "docker", "gvisor": "runsc", "uml": "linux.uml", "qemu-tcg": "qemu-system-x86_64", "kvm": "qemu-system-x86_64",
}

// share finds Tare's own share of the start-up of every platform here: by the
// trace of each launch, and by the difference to the same command started and
// timed by another program, in turn.
func share(ctx context.Context, n *numbers) (figures []selftest.Measured, err error) {
	for _, p := range all.Platforms(n.tare.state) {
		if len(n.platforms) > 0 && !slices.Contains(n.platforms, p.Name()) {
			continue
		}
		a, err := p.Check(ctx)
		if errors.Is(err, bench.ErrUnavailable) {
			n.say("  %s is left out: %v", p.Name(), err)
			continue
		}
		if err != nil {
			return figures, err
		}
		found, err := n.shareOf(ctx, p.Name())
		if err != nil {
			return figures, fmt.Errorf("%s: %w", p.Name(), err)
		}
		for i := range found {
			if a.Label != "" {
				found[i].How = a.Label + "; " + found[i].How
			}
		}
		figures = append(figures, found...)
	}
	return figures, nil
}

func (n *numbers) shareOf(ctx context.Context, platform string) (figures []selftest.Measured, err error) {
	var w *wrapper
	if program, ok := wrapped[platform]; ok {
		dir := filepath.Join(n.dir, "wrap-"+platform)
		if w, err = newWrapper(dir, program); err != nil {
			return nil, err
		}
		path := os.Getenv("PATH")
		if err := os.Setenv("PATH", dir+":"+path); err != nil {
			return nil, err
		}
		defer os.Setenv("PATH", path)
	}
	s, err := n.open(ctx, platform)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	var own, ready, hand, beyond []float64
	machine := false
	for i := range n.repeat(20) + 1 {
		var l launched
		var byHand float64
		for k := range 2 {
			if timed := (i+k)%2 == 1; !timed {
				l, err = s.traced(ctx, platform)
			} else if w != nil {
				byHand, err = s.timed(ctx, platform, w)
			}
			if err != nil {
				return nil, err
			}
		}
		n.say("  %s: ready in %.2f ms, %.2f by hand; own share %.2f ms", platform, l.ready, byHand, l.own)
		if i > 0 { // the first one fills caches
			own, ready, hand, beyond = append(own, l.own), append(ready, l.ready), append(hand, byHand), append(beyond, l.ready-byHand)
			machine = machine || l.machine
		}
	}
	p := selftest.Promises[selftest.ContainerShare]
	if machine {
		p = selftest.Promises[selftest.MachineShare]
	}
	figures = append(figures, p.Measure(stats.Median(own) <= p.Limit, stats.Median(own), medianInterval(own),
		fmt.Sprintf("median of %d launches; ready %.2f ms", len(own), stats.Median(ready)), "platform", platform+", by the trace"))
	if w != nil { // a difference is not shown to exceed the limit, since machines scatter by more
		median, interval := stats.Median(beyond), medianInterval(beyond)
		figures = append(figures, p.Measure(median <= p.Limit || len(interval) > 0 && interval[0] <= p.Limit, median, interval,
			fmt.Sprintf("median of %d pairs in turn; medians %.2f and %.2f ms", len(beyond), stats.Median(ready), stats.Median(hand)), "platform", platform+", by the start by hand"))
	}
	return figures, nil
}

// medianInterval holds the median with at least 95 % confidence, whatever the
// distribution: between two order statistics, by the sign test. Nil if there are too few values.
func medianInterval(x []float64) []float64 {
	x = slices.Sorted(slices.Values(x))
	n := len(x)
	k, tail, p := 0, 0.0, math.Pow(0.5, float64(n))
	for ; k < n/2 && tail+p <= 0.025; k++ {
		tail += p
		p *= float64(n-k) / float64(k+1)
	}
	if k == 0 {
		return nil
	}
	return []float64{x[k-1], x[n-k]}
}

// launched is one launch, in milliseconds.
type launched struct {
	ready, own float64
	machine    bool // its agent is the first process of a guest
}

// up launches the platform and waits for its agent, does the rest and ends it.
func (s *session) up(ctx context.Context, platform string, rest func(bench.Instance, *agent.Client) error) (err error) {
	shape := bench.Shape{CPUs: 1, Memory: 512 * bench.MiB, Disk: 256 * bench.MiB}
	ask, err := s.launch(platform, shape, []int{lastCPU()})
	if err != nil {
		return err
	}
	defer tree.Remove(ask.Dir)
	time.Sleep(calm)
	i, err := s.engines[platform].Start(ctx, ask)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, i.Close(context.Background())) }()
	c, err := agent.Dial(ctx, i.Stream())
	if err != nil {
		return fmt.Errorf("%w: %s", err, i.Log())
	}
	defer c.Close()
	return rest(i, c)
}

// timed launches the platform by the stopwatch, in milliseconds.
func (s *session) timed(ctx context.Context, platform string, w *wrapper) (ms float64, err error) {
	if err := w.time(true); err != nil {
		return 0, err
	}
	err = s.up(ctx, platform, func(bench.Instance, *agent.Client) (err error) {
		ms, err = w.reading()
		return err
	})
	return ms, errors.Join(err, w.time(false))
}

// traced launches the platform, to the end of the first command.
func (s *session) traced(ctx context.Context, platform string) (l launched, err error) {
	err = s.up(ctx, platform, func(i bench.Instance, c *agent.Client) (err error) {
		l, err = traceOf(ctx, i, c)
		return err
	})
	return l, err
}

func traceOf(ctx context.Context, i bench.Instance, c *agent.Client) (l launched, err error) {
	p, err := c.Start(ctx, bench.Command{Argv: []string{"/bin/true"}, Bare: true}, nil)
	if err != nil {
		return l, err
	}
	_, err = p.Wait(ctx)
	done := clock.Now()
	if err != nil {
		return l, err
	}
	facts, err := c.Facts(ctx, agent.FactsRequest{})
	if err != nil {
		return l, err
	}
	probe, err := c.Probe(ctx, 8)
	if err != nil {
		return l, err
	}
	scope, err := i.Scope()
	if err != nil {
		return l, err
	}
	u, err := trace.Of(i, c, scope, facts, bench.ClockProbe{Offset: probe.Offset, Uncertainty: probe.Uncertainty}, trace.Found{},
		trace.Command{Requested: p.Requested(), Ended: p.Ended(), Returned: done})
	if err != nil {
		return l, err
	}
	return launched{ready: float64(c.GreetedAt()-i.Launched()) / 1e6, own: float64(u.OwnTime()) / 1e6, machine: c.Hello().OwnKernel}, nil
}
