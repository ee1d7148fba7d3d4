package qemu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/guest/agent"
	"tare/internal/host/clock"
	"tare/internal/host/testnet"
	"tare/internal/platform/platformtest"
	"tare/internal/platform/vm"
	"tare/internal/state/ledger"
)

// lend is the environment of a run without a test network.
func lend(t testing.TB, id string) bench.Env {
	t.Helper()
	state, err := os.MkdirTemp("/var/tmp", "tare-qemu-") // a disk that has O_DIRECT
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(state) })
	book, err := ledger.Open(state, id)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if held, err := book.Held(); err != nil || len(held) > 0 {
			t.Errorf("still in the ledger: %v, %v", held, err)
		}
	})
	return bench.Env{Run: id, Image: platformtest.Image(t), Ledger: book, Dir: state, AgentPath: platformtest.Agent(t)}
}

// run opens the emulated platform in a test network of its own.
func run(t testing.TB, id string) *engine {
	t.Helper()
	env := lend(t, id)
	net, err := testnet.New(t.Context(), id, env.Ledger)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := net.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	env.Testnet = net
	g, err := TCG().Open(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	return g.(*engine)
}

func aLaunch(t testing.TB, g *engine, id string) bench.Launch {
	t.Helper()
	dir := filepath.Join(g.env.Dir, id)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return bench.Launch{ID: g.env.Run + "-" + id, Dir: dir, CPUSet: platformtest.CPUs(t)[:1], Options: defaults(),
		Shape: bench.Shape{CPUs: 2, Memory: 256 * bench.MiB, Disk: 256 * bench.MiB}}
}

// greet starts an instance and waits for its agent.
func greet(t testing.TB, g *engine, l bench.Launch) (*instance, *agent.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), slow*30*time.Second)
	defer cancel()
	started, err := g.Start(ctx, l)
	if err != nil {
		t.Fatal(err)
	}
	i := started.(*instance)
	t.Cleanup(func() {
		if err := i.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	client, err := agent.Dial(ctx, i.Stream())
	if err != nil {
		t.Fatalf("%v\n%s", err, i.Log())
	}
	return i, client
}

// What the meters tell by a thread's name must be what QEMU says of it.
func TestThreadPartAgreesWithTheMonitor(t *testing.T) {
	g := run(t, "qemu-threads")
	i, client := greet(t, g, aLaunch(t, g, "a"))
	defer client.Close()
	scope, err := i.Scope()
	if err != nil {
		t.Fatal(err)
	}
	if err := i.monitor.SetDeadline(time.Now().Add(slow * 10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	q := i.monitor
	if err := q.agree(); err != nil {
		t.Fatal(err)
	}
	var cpus []vcpu
	if err := q.Execute("query-cpus-fast", &cpus); err != nil {
		t.Fatal(err)
	}
	var iothreads []struct {
		Thread int `json:"thread-id"`
	}
	if err := q.Execute("query-iothreads", &iothreads); err != nil {
		t.Fatal(err)
	}
	want := map[int]string{}
	for _, c := range cpus {
		want[c.Thread] = "vcpu"
	}
	for _, io := range iothreads {
		want[io.Thread] = "iothread"
	}
	if len(want) != 3 {
		t.Errorf("QEMU has %d vCPUs and I/O threads, want 2 and 1", len(want))
	}
	pid := scope.Helpers[0].PID
	for tid, part := range want {
		name, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/comm", pid, tid))
		if err != nil {
			t.Fatal(err)
		}
		if got := vm.QEMUThreads.Part(strings.TrimSpace(string(name))); got != part {
			t.Errorf("thread %q is %q, QEMU says %q", name, got, part)
		}
	}
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/comm", pid, pid))
	if err != nil || vm.QEMUThreads.Part(strings.TrimSpace(string(name))) != "vmm" {
		t.Errorf("main thread %q, %v", name, err)
	}
}

func TestRootIsNeverWritten(t *testing.T) {
	g := run(t, "qemu-root")
	before, err := os.Stat(g.root)
	if err != nil {
		t.Fatal(err)
	}
	i, client := greet(t, g, aLaunch(t, g, "a"))
	out, err := client.Exec(t.Context(), bench.Command{Argv: []string{"sh", "-c", "echo x >/etc/mark && sync"}, Timeout: slow * 30 * time.Second})
	if err != nil || out.Exit != 0 {
		t.Fatalf("%v, %+v", err, out)
	}
	client.Close()
	if err := i.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(g.root)
	if err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("the image was written: %v, %v", after.ModTime(), err)
	}
	if left, err := os.ReadDir(i.dir); err != nil || len(left) > 0 {
		t.Errorf("left in the launch's directory: %v, %v", left, err)
	}
	_, client = greet(t, g, aLaunch(t, g, "b"))
	out, err = client.Exec(t.Context(), bench.Command{Argv: []string{"test", "-e", "/etc/mark"}, Timeout: slow * 30 * time.Second})
	if err != nil || out.Exit != 1 {
		t.Errorf("the next instance finds the file: %v, %+v", err, out)
	}
	client.Close()
}

// Every bus, format and network boots, has its scratch disk where it should be
// and writes to it; pinned virtual CPUs are bound.
func TestVariants(t *testing.T) {
	g := run(t, "qemu-variants")
	for n, c := range []struct {
		options map[string]string
		device  string
		addr    string // the guest's, "" for the lab's
	}{
		{map[string]string{optMachine: "pc", optBus: vm.BusIDE, optDisk: vm.Qcow2, optCache: "writeback"}, "/dev/sda", ""},
		{map[string]string{optBus: vm.BusIDE, optCache: "directsync", optBalloon: "yes"}, "/dev/sda", ""},
		{map[string]string{optBus: vm.BusSCSI, optPin: "on", optKSM: "off", optAIO: "io_uring", optNIC: vm.NICEmulated}, "/dev/sda", ""},
		{map[string]string{optBus: vm.BusNVMe, optNet: netUser, optCache: "unsafe"}, "/dev/nvme0n1", "10.0.2.15"},
	} {
		l := aLaunch(t, g, fmt.Sprint("v", n))
		l.Shape.CPUs = 1
		maps.Copy(l.Options, c.options)
		i, client := greet(t, g, l)
		const script = `set -e; while read dev dir rest; do [ $dir != /scratch ] || echo $dev; done </proc/mounts
dd if=/dev/zero of=/scratch/x bs=64k count=4 oflag=direct status=none; sync; ip -4 -o addr show up scope global`
		out, err := client.Exec(t.Context(), bench.Command{Argv: []string{"sh", "-c", script}, Timeout: slow * 30 * time.Second})
		if err != nil || out.Exit != 0 {
			t.Fatalf("%v: %v, %s", c.options, err, out.Stderr)
		}
		want := c.addr
		if want == "" {
			want = i.Addr().String()
		} else if i.Addr().IsValid() {
			t.Errorf("%v: an address nobody can reach: %v", c.options, i.Addr())
		}
		if got := string(out.Stdout); !strings.HasPrefix(got, c.device+"\n") || !strings.Contains(got, " "+want+"/") {
			t.Errorf("%v: want %s and %s, got %q", c.options, c.device, want, got)
		}
		if c.options[optPin] == "on" {
			checkPinned(t, i, l.CPUSet)
		}
		to := l.Shape.Memory * 3 / 4
		b, ok, err := i.Balloon(t.Context(), to)
		if has := c.options[optBalloon] == "yes"; err != nil || ok != has || has && (b.Actual != to || b.MS <= 0 || b.Before < bench.MiB) {
			t.Errorf("%v: asked to make do with %v: %+v, %v, %v", c.options, to, b, ok, err)
		}
		client.Close()
		if err := i.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(l.Dir); err != nil || len(left) > 0 {
			t.Errorf("%v: left in the launch's directory: %v, %v", c.options, left, err)
		}
	}
}

// checkPinned asks the kernel where the virtual CPUs' threads may run.
func checkPinned(t *testing.T, i *instance, cpus []int) {
	t.Helper()
	if err := i.monitor.SetDeadline(time.Now().Add(slow * 10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	var list []vcpu
	if err := i.monitor.Execute("query-cpus-fast", &list); err != nil || len(list) == 0 {
		t.Fatalf("%v, %v", list, err)
	}
	for _, v := range list {
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(v.Thread, &set); err != nil || set.Count() != 1 || !set.IsSet(cpus[v.Index]) {
			t.Errorf("virtual CPU %d: %d CPUs, %v", v.Index, set.Count(), err)
		}
	}
}

// A machine that cannot boot ends the stream, and the log says why.
func TestEarlyDeath(t *testing.T) {
	g := run(t, "qemu-death")
	for what, c := range map[string]struct {
		change func(*engine)
		says   string
	}{
		"kernel is none": {func(g *engine) { g.kernel = "/dev/null" }, "kernel"},
		"disk is gone":   {func(g *engine) { g.root = "/nonexistent" }, "No such file"},
		"disk is empty": {func(g *engine) {
			g.root = filepath.Join(g.env.Dir, "empty")
			if err := os.WriteFile(g.root, make([]byte, 1<<20), 0o644); err != nil {
				t.Fatal(err)
			}
		}, "tare-agent: mount"},
	} {
		broken := *g
		c.change(&broken)
		l := aLaunch(t, g, strings.ReplaceAll(what, " ", "-"))
		ctx, cancel := context.WithTimeout(t.Context(), slow*30*time.Second)
		i, err := broken.Start(ctx, l)
		var log string
		if err == nil {
			if _, err := io.ReadAll(i.Stream()); err != nil {
				t.Errorf("%s: the stream does not end: %v", what, err)
			}
			log = i.Log()
			if err := i.Close(ctx); err != nil {
				t.Errorf("%s: close: %v", what, err)
			}
			if i.Log() == "" {
				t.Errorf("%s: no log after Close", what)
			}
		} else {
			log = err.Error()
		}
		cancel()
		if !strings.Contains(log, c.says) {
			t.Errorf("%s: nothing about %q in %q", what, c.says, log)
		}
		if left, err := os.ReadDir(l.Dir); err != nil || len(left) > 0 {
			t.Errorf("%s: left in the launch's directory: %v, %v", what, left, err)
		}
	}
}

// The way a trial tells a living guest from a dead one, tried where guests live.
func TestTrialBoot(t *testing.T) {
	env := lend(t, "qemu-trial")
	for _, c := range []struct{ cpu, says string }{{accelTCG.cpu, ""}, {"nosuch", "nosuch"}} {
		trial := vm.Trial{Monitor: "qemu", State: t.TempDir(), Argv: func(_ context.Context, _ bench.Env, id, kernel, initrd string) ([]string, error) {
			return vm.QEMUTrialArgv(accelTCG.arg, c.cpu, id, kernel, initrd), nil
		}}
		failed, err := trial.TryBoot(t.Context(), env)
		if err != nil || !strings.Contains(failed.Reason, c.says) || (failed.Reason == "") != (c.says == "") || failed.Late {
			t.Errorf("with the CPU %s: %+v, %v", c.cpu, failed, err)
		}
	}
}

// Whatever this host's KVM is worth, its verdict is one of two, with a reason,
// and Check goes by it.
func TestProbeKVM(t *testing.T) {
	env := lend(t, "qemu-probe")
	p := KVM(t.TempDir())
	_, before := p.Check(t.Context())
	probed := p.Probe(t.Context(), env)
	_, after := p.Check(t.Context())
	t.Logf("before: %v\nprobe: %v\nafter: %v (hint: %s)", before, probed, after, bench.HintOf(after))
	if !errors.Is(before, bench.ErrUnavailable) || errors.Is(after, vm.ErrNotTried) {
		t.Error("there is a verdict before the trial, or none after it")
	}
	if (probed == nil) != (after == nil) {
		t.Error("Check does not go by the verdict")
	}
	if probed == nil {
		return
	}
	if !errors.Is(probed, bench.ErrUnavailable) || bench.HintOf(probed) == "" {
		t.Errorf("%v does not wrap ErrUnavailable or has no hint", probed)
	}
	if _, err := p.Open(t.Context(), env); !errors.Is(err, bench.ErrUnavailable) {
		t.Errorf("Open: %v", err)
	}
}

// BenchmarkBoot prints the time from launch to the agent's greeting and that
// of Close, in milliseconds, as medians.
func BenchmarkBoot(b *testing.B) {
	for _, machine := range []string{"q35", "microvm"} {
		b.Run(machine, func(b *testing.B) {
			g := run(b, "qemu-bench")
			g.options = KVM("").Options() // the microvm hangs now and then under emulation
			var ready, closed []float64
			for n := range b.N {
				l := aLaunch(b, g, fmt.Sprint(n))
				l.Options[optMachine] = machine
				l.CPUSet = []int{0, 1}
				i, client := greet(b, g, l)
				ready = append(ready, float64(client.GreetedAt()-i.Launched())/1e6)
				began := clock.Now()
				client.Close()
				if err := i.Close(b.Context()); err != nil {
					b.Fatal(err)
				}
				closed = append(closed, float64(clock.Now()-began)/1e6)
			}
			slices.Sort(ready)
			slices.Sort(closed)
			b.ReportMetric(ready[len(ready)/2], "ready-ms")
			b.ReportMetric(closed[len(closed)/2], "close-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// A kernel that a launch names is the one that boots: here a copy of the image's, whose modules it takes.
func TestANamedKernelBoots(t *testing.T) {
	g := run(t, "qemu-kernel")
	image, err := os.ReadFile(g.kernel)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "bzImage")
	if err := os.WriteFile(path, image, 0o644); err != nil {
		t.Fatal(err)
	}
	l := aLaunch(t, g, "a")
	l.Options[bench.KernelOption] = path
	i, client := greet(t, g, l)
	defer client.Close()
	release := strings.TrimPrefix(filepath.Base(g.kernel), "vmlinuz-")
	if got := client.Hello().Kernel; got != release || i.argv[slices.Index(i.argv, "-kernel")+1] != path {
		t.Errorf("kernel %s booted, want %s, by %q", got, release, i.argv)
	}
	if !slices.Contains(g.Reads(), path) || !strings.Contains(i.Log(), "kernel "+path+", release "+release+", modules of ") {
		t.Errorf("reads %q; log %s", g.Reads(), i.Log())
	}
}
