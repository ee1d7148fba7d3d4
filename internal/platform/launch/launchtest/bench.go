package launchtest

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"slices"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/host/clock"
	"tare/internal/platform/launch"
)

// rest is what the host is given before each launch, as between trials: right
// after another one a launch takes half as long.
const rest = 200 * time.Millisecond

// Bench times starts through the platform's driver and, in turn with them, of
// the same command by hand, and reports medians in milliseconds: ready and
// by-hand are from the command to the first byte from inside, start, close and
// trial what a start, a close and both together take the caller, from the call
// of Start to the end of Close. byHand prepares one launch and returns the
// command and what takes it back.
func Bench(b *testing.B, env Env, p bench.Platform, e bench.Engine, byHand func(l bench.Launch) (*exec.Cmd, func())) {
	var ready, hand, start, shut, trial []float64
	ms := func(from, to int64) float64 { return float64(to-from) / 1e6 }
	for n := 0; b.Loop(); n++ {
		time.Sleep(rest)
		called := clock.Now()
		i, err := e.Start(context.Background(), env.Launch(b, p, fmt.Sprint(n), nil))
		if err != nil {
			b.Fatal(err)
		}
		started := clock.Now()
		Greet(b, i)
		greeted := clock.Now()
		if err := i.Close(context.Background()); err != nil {
			b.Fatal(err)
		}
		closed := clock.Now()
		ready = append(ready, ms(i.Launched(), greeted))
		start = append(start, ms(called, started))
		shut = append(shut, ms(greeted, closed))
		trial = append(trial, ms(called, closed))

		time.Sleep(rest)
		cmd, undo := byHand(env.Launch(b, p, fmt.Sprintf("%d-hand", n), nil))
		hand = append(hand, outside(b, env, cmd))
		undo()
	}
	for name, list := range map[string][]float64{
		"ready-ms": ready, "by-hand-ms": hand, "start-ms": start, "close-ms": shut, "trial-ms": trial,
	} {
		slices.Sort(list)
		b.ReportMetric(list[len(list)/2], name)
	}
}

// outside times a command from its start to its first line, and ends it by
// closing its input.
func outside(b *testing.B, env Env, cmd *exec.Cmd) float64 {
	b.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	var from time.Time
	err = launch.Apart(env.Testnet.NetNS(), func() error {
		if err := launch.FreshSysfs(); err != nil {
			return err
		}
		if err := launch.Hide("/run/lxc"); err != nil {
			return err
		}
		from = time.Now()
		return cmd.Start()
	})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		b.Fatal(err)
	}
	took := time.Since(from)
	in.Close()
	if err := cmd.Wait(); err != nil {
		b.Fatal(err)
	}
	return float64(took.Nanoseconds()) / 1e6
}
