package nest_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/guest/agent"
	"tare/internal/host/testnet"
	"tare/internal/platform/nest"
	"tare/internal/platform/platformtest"
	"tare/internal/platform/qemu"
	"tare/internal/platform/runc"
	"tare/internal/state/ledger"
)

// outerAgent lets the test look into the outer guest.
type outerAgent interface{ OuterAgent() *agent.Client }

// TestLimitsOfVersionTwo shows that in the outer guest version 2 of the control
// groups enforces the shape, and that nothing else does: the outer machine has
// no quota and more memory. The kernel itself counts what it refused.
func TestLimitsOfVersionTwo(t *testing.T) {
	shape := bench.Shape{CPUs: 1, CPUQuota: 0.5, Memory: 128 * bench.MiB, Pids: 64, Disk: 128 * bench.MiB}
	in := startOne(t, nest.New(runc.New(), qemu.TCG(), setup(t)), shape)
	inner, err := agent.Dial(t.Context(), in.Stream())
	if err != nil {
		t.Fatalf("%v\n%s", err, in.Log())
	}
	scope, err := in.Scope()
	if err != nil {
		t.Fatal(err)
	}
	dir := scope.Inner.Cgroups["unified"]
	if dir == "" || len(scope.Inner.Cgroups) != 1 {
		t.Fatalf("the inner instance's groups are %v, want one of version 2", scope.Inner.Cgroups)
	}
	inside := func(argv ...string) bench.Output { return run(t, inner, argv...) }
	// The limits may lie on the instance's group or the one it is in.
	outer := in.(outerAgent).OuterAgent()
	file := func(name string) string {
		out := run(t, outer, "cat", dir+"/"+name, filepath.Dir(dir)+"/"+name)
		return string(out.Stdout)
	}
	if kind := strings.TrimSpace(string(run(t, outer, "stat", "-f", "-c", "%T", "/sys/fs/cgroup").Stdout)); kind != "cgroup2fs" {
		t.Errorf("the outer guest's control groups are a %s", kind)
	}
	for name, want := range map[string]string{"memory.max": "134217728", "cpu.max": "50000 100000", "pids.max": "64"} {
		if got := file(name); !strings.Contains(got, want) {
			t.Errorf("%s is %q, want %s", name, got, want)
		}
	}
	refused := func(name, key string) {
		t.Helper()
		if n := highest(file(name), key); n < 1 {
			t.Errorf("%s: %s is %d: the kernel refused nothing\n%s", name, key, n, file(name))
		} else {
			t.Logf("%s: %s %d", name, key, n)
		}
	}
	inside("timeout", "4", "sh", "-c", "while :; do :; done")
	refused("cpu.stat", "nr_throttled")
	if out := inside("dd", "if=/dev/zero", "of=/dev/null", "bs=192M", "count=1"); out.Exit == 0 {
		t.Error("192 MiB were had of 128")
	}
	refused("memory.events", "oom_kill")
	// The last step, since all in the instance lack processes now, its agent too: if
	// that ends, the instance does, but not the group it was in, which counts what
	// was refused below it, nor the agent of the outer guest.
	out, err := inner.Exec(t.Context(), bench.Command{Timeout: time.Minute,
		Argv: []string{"sh", "-c", "i=0; while [ $i -lt 100 ]; do sleep 300 & i=$((i+1)); done; echo all"}})
	switch {
	case err != nil:
		t.Logf("the instance's agent did not outlive the limit: %v", err)
	case out.Exit == 0 && strings.Contains(string(out.Stdout), "all"):
		t.Error("100 processes began with a limit of 64")
	}
	refused("pids.events", "max")
}

func run(t *testing.T, c *agent.Client, argv ...string) bench.Output {
	t.Helper()
	out, err := c.Exec(t.Context(), bench.Command{Argv: argv, Timeout: time.Minute})
	if err != nil {
		t.Fatalf("%v: %v", argv, err)
	}
	return out
}

// highest is the greatest number behind the key in files of "key number" lines.
func highest(text, key string) int {
	most := 0
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == key {
			n, _ := strconv.Atoi(f[1])
			most = max(most, n)
		}
	}
	return most
}

// startOne starts one instance in a run of its own.
func startOne(t *testing.T, p bench.Platform, shape bench.Shape) bench.Instance {
	t.Helper()
	if _, err := p.Check(t.Context()); err != nil {
		t.Skip(err)
	}
	state, err := os.MkdirTemp("/var/tmp", "tare-nest-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(state) })
	name := "nest-" + strconv.Itoa(os.Getpid())
	led, err := ledger.Open(state, name)
	if err != nil {
		t.Fatal(err)
	}
	l, err := testnet.New(t.Context(), name, led)
	if err != nil {
		t.Fatal(err)
	}
	closed := func(close func(context.Context) error) {
		t.Cleanup(func() {
			if err := close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	closed(l.Close)
	dir := filepath.Join(state, "run")
	if err := os.MkdirAll(filepath.Join(dir, "one"), 0o755); err != nil {
		t.Fatal(err)
	}
	engine, err := p.Open(t.Context(), bench.Env{Run: name, Image: platformtest.Image(t), Testnet: l, Ledger: led, Dir: dir, AgentPath: platformtest.Agent(t)})
	if err != nil {
		t.Fatal(err)
	}
	closed(engine.Close)
	options := map[string]string{}
	for _, o := range p.Options() {
		options[o.Name] = o.Default
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	in, err := engine.Start(ctx, bench.Launch{ID: name + "-1", Shape: shape, CPUSet: platformtest.CPUs(t)[:1], Options: options, Dir: filepath.Join(dir, "one")})
	if err != nil {
		t.Fatal(err)
	}
	closed(in.Close)
	return in
}
