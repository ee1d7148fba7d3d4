package launch_test

import (
	"bufio"
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
	"tare/internal/host/clock"
	"tare/internal/platform/launch"
	"tare/internal/platform/launch/launchtest"
)

// A held program is in its group with its first instruction, and its launch
// begins when it is let go.
func TestStartIn(t *testing.T) {
	env := launchtest.New(t, "held")
	fs, err := cgroup.Detect()
	if err != nil {
		t.Fatal(err)
	}
	name := env.Run + "/held"
	group, _, err := fs.Create(name, cgroup.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cgroup.Remove(context.Background(), name); err != nil {
			t.Error(err)
		}
	})
	dir := t.TempDir()
	called := clock.Now()
	cmd := exec.Command("/bin/sh", "-c", "cat /proc/self/cgroup; ls /proc/self/fd; echo end $0 $COLOUR; pwd; cat", "a b")
	cmd.Env, cmd.Dir = []string{"COLOUR=red"}, dir
	p, err := launch.StartIn(t.Context(), group, env.AgentPath, cmd, filepath.Join(dir, "words"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop(context.Background(), 0) })
	var lines []string
	for in := bufio.NewScanner(p.Stream()); in.Scan(); {
		lines = append(lines, in.Text())
		if in.Text() == dir {
			break
		}
	}
	text := strings.Join(lines, "\n")
	if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasSuffix(l, "/"+name) }) {
		t.Errorf("not in the group %s:\n%s", name, text)
	}
	if !slices.Contains(lines, "end a b red") || lines[len(lines)-1] != dir {
		t.Errorf("arguments, environment or directory are not those given:\n%s", text)
	}
	if slices.Contains(lines, "4") { // ls itself has 3
		t.Errorf("files are left open:\n%s", text)
	}
	spans := p.Trace()
	if len(spans) != 1 || spans[0].Start != p.Launched() || spans[0].End < spans[0].Start || p.Launched() < called || spans[0].Whose != bench.OfTare {
		t.Errorf("launched at %d, after the call at %d; traced %+v", p.Launched(), called, spans)
	}
}

func TestHeldProgramThatCannotBeStarted(t *testing.T) {
	env := launchtest.New(t, "held")
	fs, err := cgroup.Detect()
	if err != nil {
		t.Fatal(err)
	}
	gone := fs.Group(env.Run + "/gone") // was never made
	none, _, err := fs.Create(env.Run+"/none", cgroup.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cgroup.Remove(context.Background(), none.Name()); err != nil {
			t.Error(err)
		}
	})
	start := func(ctx context.Context, g *cgroup.Group, path string) error {
		p, err := launch.StartIn(ctx, g, env.AgentPath, &exec.Cmd{Path: path, Args: []string{"x"}}, filepath.Join(t.TempDir(), "words"))
		if err == nil {
			p.Stop(context.Background(), 0)
		}
		return err
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		err  error
		want string
	}{
		{start(t.Context(), none, "/no/such/program"), "execute /no/such/program: no such file or directory"},
		{start(t.Context(), none, "relative"), "want an absolute path"},
		{start(t.Context(), gone, "/bin/true"), "join cgroup"},
		{start(ended, none, "/bin/true"), "context canceled"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%v; want %q", c.err, c.want)
		}
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		pids, err := none.Procs()
		if err != nil || len(pids) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("processes %v are left in the group", pids)
		}
	}
}
