package containment

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/guest/agent"
	"tare/internal/host/cgroup"
	"tare/internal/host/testnet"
	"tare/internal/platform/native"
	"tare/internal/platform/platformtest"
	"tare/internal/workload"
)

// usable is what a start may take at the 99th percentile beside any bomb.
const usable = 1000 // ms

// bombFor is how long each bomb goes on.
const bombFor = 2 * time.Second

// workWithin bounds the time it may take until it shows.
const workWithin = 20 * time.Second

// Every adversary runs natively, where no platform holds it, on every CPU of
// the host. The host stays usable, nobody outside the containment dies, and nothing is left inside.
func TestBombsLeaveTheHostUsable(t *testing.T) {
	g := newGuard(t, "bombs")
	l, err := testnet.New(t.Context(), g.Run, g.Ledger)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	dir, err := os.MkdirTemp("/var/tmp", "tare-bombs-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	engine, err := native.New().Open(t.Context(), bench.Env{Run: g.Run, Image: platformtest.Image(t), Testnet: l, Ledger: g.Ledger,
		Dir: dir, AgentPath: platformtest.Agent(t)})
	if err != nil {
		t.Fatal(err)
	}
	b := &bombing{guard: g, testnet: l, engine: engine, dir: dir}
	for _, c := range []struct {
		workload, kind string
		worked         func(adversary) bool
	}{
		{"bomb", "fork", func(h adversary) bool { return h.tasks >= bombPids/2 }},
		{"bomb", "malloc", func(h adversary) bool { return h.kills > 0 }},
		{"bomb", "disk", func(h adversary) bool { return h.written > 64*bench.MiB }},
		{"flood", "syn", func(h adversary) bool { return h.packets > 10_000 }},
		{"flood", "udp", func(h adversary) bool { return h.packets > 10_000 }},
	} {
		t.Run(c.workload+" "+c.kind, func(t *testing.T) { b.run(t, c.workload, c.kind, c.worked) })
	}
}

const bombPids = 500

// adversary is what an adversary has done so far.
type adversary struct {
	tasks, kills, packets int
	written               bench.Bytes // by the processes that live
}

type bombing struct {
	guard   *Guard
	testnet *testnet.Network
	engine  bench.Engine
	dir     string
	count   int
}

// box is a contained instance with its agent.
type box struct {
	group  *Group
	client *agent.Client
	addr   netip.Addr
}

func (b *bombing) start(t *testing.T, netns string) box {
	t.Helper()
	b.count++
	id := fmt.Sprintf("%s-%d", b.guard.Run, b.count)
	containment := newGroup(t, b.guard, "contain-"+id, bench.Containment{Pids: bombPids, Memory: 384 * bench.MiB})
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	launch := bench.Launch{ID: id, Shape: bench.Shape{CPUs: 1, Memory: 256 * bench.MiB, Disk: 256 * bench.MiB},
		Dir: b.dir + "/" + id, NetNS: netns, Containment: "contain-" + id}
	for cpu := range 1024 {
		if set.IsSet(cpu) {
			launch.CPUSet = append(launch.CPUSet, cpu)
		}
	}
	launch.Shape.CPUs = len(launch.CPUSet)
	if err := os.Mkdir(launch.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	i, err := b.engine.Start(t.Context(), launch)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := i.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	client, err := agent.Dial(t.Context(), i.Stream())
	if err != nil {
		t.Fatal(err)
	}
	return box{containment, client, i.Addr()}
}

func (b *bombing) run(t *testing.T, name, kind string, worked func(adversary) bool) {
	w, err := workload.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	params, err := workload.Fill(w, bench.Params{"kind": kind})
	if err != nil {
		t.Fatal(err)
	}
	witness := exec.Command("sleep", "1000")
	if err := witness.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := witness.Process.Kill(); err != nil {
			t.Errorf("a process outside of the containment died: %v", err)
		}
		_ = witness.Wait()
	}()

	main := b.start(t, "")
	boxes := map[string]box{bench.SubjectPart: main}
	containments := []*Group{main.group}
	parts := append([]string{bench.SubjectPart}, w.Parts()...)
	for _, part := range w.Parts() {
		netns, _, err := b.testnet.Peer(t.Context(), "peer", 0)
		if err != nil {
			t.Fatal(err)
		}
		boxes[part] = b.start(t, netns)
		containments = append(containments, boxes[part].group)
	}
	before := b.received(t)
	watch := watch(t, b.guard, time.Minute, containments...)
	var checks []func()
	for _, part := range parts {
		steps, err := w.Steps(part, params, bench.Setting{Shape: bench.Shape{CPUs: 2, Memory: 256 * bench.MiB, Disk: 256 * bench.MiB},
			Addr: map[string]netip.Addr{bench.SubjectPart: main.addr}})
		if err != nil {
			t.Fatal(err)
		}
		p, err := boxes[part].client.Start(t.Context(), steps.Main, nil)
		if err != nil {
			t.Fatal(err)
		}
		if kind != "fork" {
			checks = append(checks, stillRuns(t, p))
		}
	}
	time.Sleep(bombFor)
	// It must have done what it is for, on a busy host a little later.
	inside := newInside(main.group.group)
	for deadline := time.Now().Add(workWithin); ; time.Sleep(100 * time.Millisecond) {
		h := adversary{tasks: inside.look(), kills: inside.kills(), packets: b.received(t) - before, written: writtenIn(t, main.group.group)}
		if worked(h) {
			break
		}
		if time.Now().After(deadline) {
			t.Errorf("%+v in %v: no adversary", h, workWithin)
			break
		}
	}
	for _, check := range checks {
		check()
	}
	report := release(t, watch)
	t.Logf("started a program %d times: P50 %.1f ms, P99 %.1f ms, longest %.1f ms; at most %d tasks in the containment, %d killed for want of memory",
		len(report.Starts), report.P50, report.P99, report.Max, report.Peak, report.OOMInside)
	switch {
	case report.Ended != "":
		t.Errorf("the watchdog ended it: %s", report.Ended)
	case len(report.Starts) < 10:
		t.Errorf("only %d starts", len(report.Starts))
	case report.P99 > usable:
		t.Errorf("starting a program took %.0f ms at the 99th percentile, more than %d", report.P99, usable)
	}
	for _, c := range containments {
		empty(t, c)
	}
}

// stillRuns returns what checks, later, that the program did not end of itself.
func stillRuns(t *testing.T, p *agent.Process) func() {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan string, 1)
	go func() {
		if out, err := p.Wait(ctx); err == nil {
			ended <- fmt.Sprintf("exit status %d: %s%s", out.Exit, out.Stdout, out.Stderr)
		}
		close(ended)
	}()
	return func() {
		cancel()
		if how := <-ended; how != "" {
			t.Errorf("the adversary ended: %s", strings.TrimSpace(how))
		}
	}
}

// writtenIn is what the processes in the group have written.
func writtenIn(t *testing.T, g *cgroup.Group) (sum bench.Bytes) {
	t.Helper()
	pids, err := g.Procs()
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid)) // it may have ended
		for line := range strings.Lines(string(text)) {
			var n int64
			if _, err := fmt.Sscanf(line, "wchar: %d", &n); err == nil {
				sum += bench.Bytes(n)
			}
		}
	}
	return sum
}

// received is how many packets have come over the wire from the peer, if there is one.
func (b *bombing) received(t *testing.T) int {
	t.Helper()
	n := 0
	err := b.testnet.Do(func() error {
		text, err := os.ReadFile("/proc/thread-self/net/dev")
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(strings.Replace(line, ":", ": ", 1)); len(f) > 2 && f[0] == "wire0:" {
				_, err = fmt.Sscan(f[2], &n)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
