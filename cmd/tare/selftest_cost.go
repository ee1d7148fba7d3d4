package main

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tare/internal/bench"
	"tare/internal/platform/docker"
	"tare/internal/platform/launch"
	"tare/internal/selftest"
	"tare/internal/store"
)

func (a *app) selftestCostCommand() *cobra.Command {
	var t trialSet
	var window time.Duration
	c := &cobra.Command{
		Use:   "cost",
		Short: "What observing costs: with meters and without, and against pidstat and docker stats",
		Long: `Measures every workload on every platform with meters on and with meters off, in
randomized blocks, and tests whether the results are equivalent within 1 %.

The case "watch" observes four containers for ten seconds: once by ourselves, and
once while "pidstat 1" and "docker stats" watch them too. Counted are our whole
process and the agents inside, against pidstat, the docker command and what
dockerd, containerd and the shims use above the launch without. Without pidstat
(Debian's package sysstat) or the platform docker there is no such comparison.

Exit status: 0 every claim holds; 2 one is open; 4 if a result surely changes by more than 1 %, or if we surely use
more than a fifth of what those tools use.`,
		Example: "  tare selftest cost\n  tare selftest cost --blocks 5 --cases watch",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := t.checkOf(a, selftest.CostCases()); err != nil {
				return err
			}
			noTools := ""
			if _, err := launch.Program("pidstat"); err != nil {
				noTools = "pidstat is not installed; Debian's package sysstat has it"
			}
			if !slices.Contains(t.platforms, "docker") || !slices.Contains(t.cases, selftest.WatchCase) {
				noTools = "docker was not among the platforms, or watch not among the cases"
			}
			text, err := selftest.CostSpec(t.platforms, t.cases, t.group, window, noTools == "")
			if err != nil {
				return err
			}
			t.m.beside = (*session).tools
			return a.trials(c.Context(), selftest.PartCost, text, &t, func(r *store.Run) error { return a.endCost(r, t, noTools) })
		},
	}
	t.flagsOf(c, []string{"native", "lxc", "docker"}, selftest.CostCases(), selftest.CostCases(), 20)
	c.Flags().DurationVar(&window, "window", time.Second, "how long each result is measured, in whole seconds")
	return c
}

func (a *app) endCost(r *store.Run, t trialSet, noTools string) error {
	cost, err := selftest.EvaluateCost(r.Plan(), r.Outcomes(), r.Samples)
	if err != nil {
		return err
	}
	if cost.Tools == nil {
		cost.NoTools = noTools
		if noTools == "" {
			cost.NoTools = "no launch with them was finished"
		}
	}
	done, err := measured(r)
	if err != nil {
		return err
	}
	t.asJSON = t.m.asJSON
	return a.keep(cost.Finding(done), originOf(r), *r.Host(), t.keeping)
}

// toolsSettle is how long the tools run before they are measured, for their
// start is not what is asked.
const toolsSettle = 2 * time.Second

// tools starts pidstat and docker stats beside the platform that is named for them.
func (s *session) tools(ctx context.Context, scene *bench.Scene) (processes []bench.Process, stop func(), err error) {
	if scene.Platform.Options[bench.AliasOption] != selftest.Tools {
		return nil, nil, nil
	}
	mark := s.id + "-tools"
	if err := s.ledger.Register(bench.KindProcess, mark); err != nil {
		return nil, nil, err
	}
	var running []*watcher
	stop = func() {
		for _, t := range running {
			_ = t.cmd.Process.Kill() // it may have ended
			<-t.ended
		}
		_ = s.ledger.Release(bench.KindProcess, mark) // left in the ledger, it is found to be gone
	}
	for _, w := range []struct{ part, program, args string }{
		{selftest.PartPidstat, "pidstat", "1"},
		{selftest.PartDockerStats, "docker", "stats"},
	} {
		t, err := s.startTool(mark, w.program, w.args)
		if err != nil {
			stop()
			return nil, nil, err
		}
		running = append(running, t)
		processes = append(processes, bench.Process{PID: t.cmd.Process.Pid, Part: w.part})
	}
	select {
	case <-time.After(toolsSettle):
	case <-ctx.Done():
	}
	for _, t := range running {
		select {
		case <-t.ended:
			stop()
			return nil, nil, fmt.Errorf("%s ended by itself: %s", strings.Join(t.cmd.Args, " "), strings.TrimSpace(t.said.String()))
		default:
		}
	}
	return processes, stop, nil
}

// watcher is a running program that watches.
type watcher struct {
	cmd   *exec.Cmd
	said  strings.Builder // on standard error
	ended chan struct{}
}

func (s *session) startTool(mark, program string, args ...string) (*watcher, error) {
	path, err := launch.Program(program)
	if err != nil {
		return nil, err
	}
	t := &watcher{cmd: exec.Command(path, args...), ended: make(chan struct{})}
	t.cmd.Env = []string{"LC_ALL=C", "DOCKER_HOST=" + docker.Host(s.id), "DOCKER_CONFIG=" + s.dir, bench.ProcessMark + "=" + mark}
	t.cmd.Stderr = &t.said
	if err := t.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	go func() {
		_ = t.cmd.Wait() // it is killed, and its end by itself is seen by the channel
		close(t.ended)
	}()
	return t, nil
}
