package runc

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/guest/agent"
	"tare/internal/platform/launch/launchtest"
	"tare/internal/platform/platformtest"
)

// moving starts a container whose agent has greeted, and skips where CRIU cannot checkpoint it.
func moving(t *testing.T, options map[string]string) (launchtest.Env, bench.Engine, bench.Instance, *agent.Client) {
	t.Helper()
	a, err := New().Check(t.Context())
	if err = errors.Join(err, a.Unmoved); err != nil {
		t.Skip(err)
	}
	env := launchtest.New(t, "runcmove")
	env.Image, env.AgentPath = platformtest.Image(t), platformtest.Agent(t)
	e, err := New().Open(t.Context(), env.Env)
	if err != nil {
		t.Fatal(err)
	}
	i, err := e.Start(t.Context(), env.Launch(t, New(), "a", options))
	if err != nil {
		t.Fatal(err)
	}
	client, err := agent.Dial(t.Context(), i.Stream())
	if err != nil {
		t.Fatalf("%v\n%s", err, i.Log())
	}
	return env, e, i, client
}

// leave closes all and looks for what is left.
func leave(t *testing.T, env launchtest.Env, e bench.Engine, i bench.Instance, c *agent.Client) {
	t.Helper()
	c.Close()
	if err := errors.Join(i.Close(context.Background()), e.Close(context.Background())); err != nil {
		t.Error(err)
	}
	if held := env.Held(t); len(held) != 0 {
		t.Errorf("still registered: %q", held)
	}
	if left := launchtest.Remains(t, env.Run); len(left) != 0 {
		t.Errorf("left on the host: %q", left)
	}
}

// The stream to the agent, a command that runs, what it has open and its network survive.
func TestMigration(t *testing.T) {
	env, e, i, client := moving(t, nil)
	defer leave(t, env, e, i, client)
	said := make(chan string, 1000)
	running, err := client.Start(t.Context(), bench.Command{Argv: []string{"sh", "-c",
		"exec 3>/scratch/open; echo before >&3; echo ready; while [ ! -e /tmp/end ]; do sleep 0.1; done; echo after >&3; cat /scratch/open"}},
		func(b []byte) { said <- string(b) })
	if err != nil {
		t.Fatal(err)
	}
	if got := <-said; got != "ready\n" {
		t.Fatalf("the program said %q", got)
	}
	before, err := i.Scope()
	if err != nil {
		t.Fatal(err)
	}
	m := i.(bench.Migratory)
	moved, err := m.Migrate(t.Context())
	if err != nil {
		t.Fatalf("%v\n%s", err, i.Log())
	}
	if moved.Dumped <= moved.Began || moved.Ended <= moved.Dumped || moved.Pages < bench.MiB || moved.Bytes <= moved.Pages || moved.Downtime <= 0 || moved.Rounds < 1 {
		t.Errorf("it says %+v", moved)
	}
	if out, err := client.Exec(t.Context(), bench.Command{Argv: []string{"sh", "-c", "touch /tmp/end; ip -4 -o address show dev eth0"}}); err != nil ||
		!strings.Contains(string(out.Stdout), i.Addr().String()) {
		t.Fatalf("after the move: %v, %+v", err, out)
	}
	if out, err := running.Wait(t.Context()); err != nil || out.Exit != 0 || !strings.HasSuffix(string(out.Stdout), "before\nafter\n") {
		t.Errorf("the program that was moved: %v, %+v", err, out)
	}
	if after, err := i.Scope(); err != nil || after.Helpers[0].PID == before.Helpers[0].PID || after.Cgroups["memory"] != before.Cgroups["memory"] {
		t.Errorf("scope %+v as before (%v)", after, err)
	}
	if _, err := m.Migrate(t.Context()); !errors.Is(err, bench.ErrInvalid) {
		t.Errorf("a second move: %v", err)
	}
}

// userfault is the number of userfaultfd(2), whose descriptors CRIU does not know.
var userfault = map[string]string{"amd64": "323", "arm64": "282"}

// What CRIU cannot save is refused in its words, and the container goes on.
func TestRefusedMigration(t *testing.T) {
	env, e, i, client := moving(t, map[string]string{"net": "none"})
	defer leave(t, env, e, i, client)
	said := make(chan string, 10)
	_, err := client.Start(t.Context(), bench.Command{Argv: []string{"perl", "-e",
		`my $fd = syscall($ARGV[0] + 0, 1); $| = 1; print $fd < 0 ? "none\n" : "open\n"; sleep`, userfault[runtime.GOARCH]}},
		func(b []byte) { said <- string(b) })
	if err != nil {
		t.Fatal(err)
	}
	if got := <-said; got != "open\n" {
		t.Skip("this kernel has no userfaultfd(2)")
	}
	_, err = i.(bench.Migratory).Migrate(t.Context())
	if err == nil || !strings.Contains(err.Error(), "CRIU says: ") || bench.HintOf(err) == "" {
		t.Fatalf("moved: %v", err)
	}
	t.Log(err)
	if out, err := client.Exec(t.Context(), bench.Command{Argv: []string{"true"}}); err != nil || out.Exit != 0 {
		t.Errorf("after the refusal: %v, %+v", err, out)
	}
}

// Without CRIU the platform is there, and says what moving lacks.
func TestNoCRIU(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "criu"), []byte("#!/bin/sh\necho Version: 3.17.1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	a, err := New().Check(t.Context())
	if err != nil {
		t.Skip(err)
	}
	if a.Migrates != bench.Checkpoint || !errors.Is(a.Unmoved, bench.ErrUnavailable) || !strings.Contains(a.Unmoved.Error(), "3.17.1 is too old") || bench.HintOf(a.Unmoved) == "" {
		t.Errorf("%+v", a)
	}
}
