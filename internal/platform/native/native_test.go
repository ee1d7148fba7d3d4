package native

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/guest/agent"
	"tare/internal/host/testnet"
	"tare/internal/platform/platformtest"
	"tare/internal/state/ledger"
)

func TestConformance(t *testing.T) { platformtest.Run(t, New(), platformtest.Options{}) }

// open makes a run with a test network and opens the platform.
func open(t testing.TB) (*engine, *testnet.Network) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("changing the root needs root")
	}
	state, err := os.MkdirTemp("/var/tmp", "tare-native-")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(state)) })
	run := fmt.Sprintf("native-%d", os.Getpid())
	led, err := ledger.Open(state, run)
	must(t, err)
	l, err := testnet.New(t.Context(), run, led)
	must(t, err)
	t.Cleanup(func() { must(t, l.Close(context.Background())) })
	e, err := New().Open(t.Context(), bench.Env{
		Run: run, Image: platformtest.Image(t), Testnet: l, Ledger: led, Dir: state, AgentPath: platformtest.Agent(t),
	})
	must(t, err)
	return e.(*engine), l
}

func launchOf(t testing.TB, e *engine, name string) bench.Launch {
	t.Helper()
	l := bench.Launch{
		ID: e.env.Run + "-" + name, Shape: bench.Shape{CPUs: 1, Memory: 256 * bench.MiB, Disk: bench.GiB},
		CPUSet: platformtest.CPUs(t)[:1], Dir: filepath.Join(e.env.Dir, name),
	}
	must(t, os.Mkdir(l.Dir, 0o755))
	return l
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A peer is in its own namespace and says its address there.
func TestPeer(t *testing.T) {
	e, net := open(t)
	netns, addr, err := net.Peer(t.Context(), "peer", 0)
	must(t, err)
	l := launchOf(t, e, "a")
	l.NetNS = netns
	i, err := e.Start(t.Context(), l)
	must(t, err)
	defer func() { must(t, i.Close(context.Background())) }()
	if i.Addr() != addr {
		t.Errorf("address %v, want %v", i.Addr(), addr)
	}
	c, err := agent.Dial(t.Context(), i.Stream())
	must(t, err)
	out, err := c.Exec(t.Context(), bench.Command{Argv: []string{"ls", "/sys/class/net"}, Timeout: time.Minute})
	must(t, err)
	if got := string(out.Stdout); got != "lo\nwire\n" {
		t.Errorf("sees the devices %q", got)
	}
}

// The instance sees its own mounts and devices, with the usual priority and
// file mode mask.
func TestInside(t *testing.T) {
	e, _ := open(t)
	i, err := e.Start(t.Context(), launchOf(t, e, "a"))
	must(t, err)
	defer func() { must(t, i.Close(context.Background())) }()
	c, err := agent.Dial(t.Context(), i.Stream())
	must(t, err)
	const script = `cd /proc/$PPID; nice; umask; wc -l < /proc/mounts; readlink root; ls / /dev`
	out, err := c.Exec(t.Context(), bench.Command{Argv: []string{"sh", "-c", script}, Timeout: time.Minute})
	must(t, err)
	words := strings.Fields(string(out.Stdout))
	if len(words) < 4 || words[0] != "0" || words[1] != "0022" || words[3] != "/" {
		t.Fatalf("nice, umask, mounts, root: %q, %s", words, out.Stderr)
	}
	if words[2] != "8" { // root, scratch, proc, sys, dev, pts, shm, agent
		t.Errorf("%s mounts, want those of the instance alone: 8", words[2])
	}
	for _, name := range []string{"scratch", "null", "zero", "full", "urandom", "shm", "pts", "stdout"} {
		if !slices.Contains(words, name) {
			t.Errorf("%s is missing in %q", name, words)
		}
	}
}

// An instance that cannot be built says why, through Start, which leaves nothing.
func TestSpawnFails(t *testing.T) {
	e, _ := open(t)
	for what, change := range map[string]func(*engine, *bench.Launch){
		"overlay":             func(e *engine, _ *bench.Launch) { e.root = "/no/such/root" },
		"a comma":             func(e *engine, _ *bench.Launch) { e.root = "/a,b" },
		"no such file":        func(_ *engine, l *bench.Launch) { l.NetNS = "/no/such/netns" },
		"fork/exec /no/agent": func(e *engine, _ *bench.Launch) { e.env.AgentPath = "/no/agent" },
		"no CPUs":             func(_ *engine, l *bench.Launch) { l.CPUSet = nil },
		"spawn: it is not ready": func(e *engine, _ *bench.Launch) { // an agent that dies
			e.env.AgentPath = "/bin/false"
		},
	} {
		changed := *e
		l := launchOf(t, e, "x")
		change(&changed, &l)
		i, err := changed.Start(t.Context(), l)
		if err == nil {
			must(t, i.Close(context.Background()))
		}
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
		must(t, os.RemoveAll(l.Dir))
		held, err := e.env.Ledger.(*ledger.Ledger).Held()
		if len(held) > 2 || err != nil { // the test network's directory and namespace
			t.Errorf("%s: left in the ledger: %+v, %v", what, held, err)
		}
	}
}

// BenchmarkStart reports the median milliseconds from launch to greeting, of
// the whole of Start with Dial, and of Close.
func BenchmarkStart(b *testing.B) {
	e, _ := open(b)
	var ready, start, end []float64
	for n := 0; b.Loop(); n++ {
		l := launchOf(b, e, fmt.Sprint("b", n))
		began := time.Now()
		i, err := e.Start(b.Context(), l)
		must(b, err)
		c, err := agent.Dial(b.Context(), i.Stream())
		must(b, err)
		start = append(start, ms(time.Since(began)))
		ready = append(ready, float64(c.GreetedAt()-i.Launched())/1e6)
		began = time.Now()
		_ = c.Close()
		must(b, i.Close(b.Context()))
		end = append(end, ms(time.Since(began)))
		must(b, os.RemoveAll(l.Dir))
	}
	for what, all := range map[string][]float64{"ms-ready": ready, "ms-start": start, "ms-close": end} {
		slices.Sort(all)
		b.ReportMetric(all[len(all)/2], what)
	}
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }
