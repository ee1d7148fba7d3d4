package platformtest

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
)

// testTurns freezes the control group around an instance, as a scene in turns does. Nothing of the
// instance runs meanwhile, and its program goes on afterwards.
func testTurns(t *testing.T, s *suite) {
	l := s.launch(t, s.o.Shape, CPUs(t)[:1])
	found, err := s.p.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	options := bench.Variant(s.p.Options(), s.o.Options)
	if err := found.Unfreezable(options); err != nil {
		t.Logf("it takes no turns: %v", err)
		return
	}
	host, err := cgroup.Detect()
	if err != nil {
		t.Fatal(err)
	}
	l.Containment = "turns-" + l.ID
	g := host.Group(s.env.Run + "/" + l.Containment)
	if err := s.ledger.Register(bench.KindCgroup, g.Name()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := host.Create(g.Name(), cgroup.Limits{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // after the instance's end
		ctx, cancel := context.WithTimeout(context.Background(), s.slow(time.Minute))
		defer cancel()
		if err := g.End(ctx); err != nil {
			t.Error(err)
		}
		if err := s.ledger.Release(bench.KindCgroup, g.Name()); err != nil {
			t.Error(err)
		}
	})
	b := s.startAs(t, l)
	t.Cleanup(func() { _ = g.Thaw() }) // whatever failed: what is frozen cannot be closed
	const turns = 10
	p, err := b.agent.Start(t.Context(), bench.Command{Argv: []string{"sh", "-c", "while :; do :; done"}, Timeout: s.slow(time.Minute)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range turns {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		err := g.Freeze(ctx)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond) // cgroup v2 counts a task as frozen on its way off the CPU
		before := cpuTimes(t, g)
		time.Sleep(50 * time.Millisecond)
		if after := cpuTimes(t, g); !maps.Equal(before, after) {
			t.Errorf("something ran while it was frozen: nanoseconds of CPU by thread %v, then %v", before, after)
		}
		if err := g.Thaw(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	before := cpuTimes(t, g)
	for deadline := time.Now().Add(s.slow(10 * time.Second)); maps.Equal(before, cpuTimes(t, g)); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nothing runs after it was thawed")
		}
	}
	if err := p.Kill(t.Context()); err != nil {
		t.Errorf("the program did not outlive the turns: %v", err)
	}
	if out, err := p.Wait(t.Context()); err != nil || out.Signal == "" {
		t.Errorf("the program did not outlive the turns: %v, exit status %d", err, out.Exit)
	}
}

// cpuTimes are the nanoseconds of CPU that each thread in the group has used; none is an error.
func cpuTimes(t *testing.T, g *cgroup.Group) map[string]uint64 {
	t.Helper()
	pids, err := g.Procs()
	if err != nil || len(pids) == 0 {
		t.Fatalf("nothing of the instance is in the control group around it: %v", err)
	}
	used := map[string]uint64{}
	for _, pid := range pids {
		files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				continue // it has ended
			}
			var ns uint64
			if _, err := fmt.Sscan(string(text), &ns); err != nil {
				t.Fatalf("%s: %q: %v", f, text, err)
			}
			used[f] = ns
		}
	}
	return used
}
