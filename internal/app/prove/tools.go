package prove

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"tare/internal/app/session"
	"tare/internal/bench"
	"tare/internal/platform/docker"
	"tare/internal/platform/launch"
	"tare/internal/selftest"
)

// toolsSettle is how long the tools run before they are measured, for their
// start is not what is asked.
const toolsSettle = 2 * time.Second

// tools starts pidstat and docker stats beside the platform that is named for them.
func tools(ctx context.Context, s *session.Session, scene *bench.Scene) (processes []bench.Process, stop func(), err error) {
	if scene.Platform.Options[bench.AliasOption] != selftest.Tools {
		return nil, nil, nil
	}
	mark := s.ID + "-tools"
	if err := s.Ledger.Register(bench.KindProcess, mark); err != nil {
		return nil, nil, err
	}
	var running []*watcher
	stop = func() {
		for _, t := range running {
			_ = t.cmd.Process.Kill() // it may have ended
			<-t.ended
		}
		_ = s.Ledger.Release(bench.KindProcess, mark) // left in the ledger, it is found to be gone
	}
	for _, w := range []struct{ part, program, args string }{
		{selftest.PartPidstat, "pidstat", "1"},
		{selftest.PartDockerStats, "docker", "stats"},
	} {
		t, err := startTool(s, mark, w.program, w.args)
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

func startTool(s *session.Session, mark, program string, args ...string) (*watcher, error) {
	path, err := launch.Program(program)
	if err != nil {
		return nil, err
	}
	t := &watcher{cmd: exec.Command(path, args...), ended: make(chan struct{})}
	t.cmd.Env = []string{"LC_ALL=C", "DOCKER_HOST=" + docker.Host(s.ID), "DOCKER_CONFIG=" + s.Dir, bench.ProcessMark + "=" + mark}
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
