package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
	"tare/internal/platform/fake"
	"tare/internal/run/containment"
)

// lean is an engine whose instances have balloons, and are put into the pool.
type lean struct {
	bench.Engine
	run string

	mu    sync.Mutex
	asked map[string]bench.Bytes // by launch
}

func (l *lean) Start(ctx context.Context, launch bench.Launch) (bench.Instance, error) {
	fs, err := cgroup.Detect()
	if err != nil {
		return nil, err
	}
	g, _, err := fs.Create(launch.Group(l.run), cgroup.Limits{})
	if err != nil {
		return nil, err
	}
	i, err := l.Engine.Start(ctx, launch)
	if err != nil {
		return nil, errors.Join(err, g.Remove())
	}
	return &leanInstance{i, l, launch, g}, nil
}

type leanInstance struct {
	bench.Instance
	engine *lean
	launch bench.Launch
	group  *cgroup.Group
}

func (i *leanInstance) Balloon(_ context.Context, to bench.Bytes) (bench.Balloon, bool, error) {
	i.engine.mu.Lock()
	defer i.engine.mu.Unlock()
	i.engine.asked[i.launch.ID] = to
	return bench.Balloon{Target: to, Actual: to + bench.MiB}, i.launch.Shape.CPUs == 1, nil
}

func (i *leanInstance) Close(ctx context.Context) error {
	return errors.Join(i.Instance.Close(ctx), i.group.End(ctx))
}

// A pool is a control group around the instances, of its size; those that can
// are asked to make do with their share of it.
func TestPool(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("making cgroups needs root")
	}
	run := fmt.Sprintf("test-pool-%d", os.Getpid())
	actors := subjects(2, nil)
	for i := range actors {
		actors[i].Shape = bench.Shape{CPUs: 1 + i, Memory: 96 * bench.MiB}
	}
	roomy, tight := scene("roomy", actors), scene("tight", actors)
	roomy.MemoryPool, tight.MemoryPool = 256*bench.MiB, 128*bench.MiB
	r, s := newRunner(t, counter{}, fake.Options{}, roomy, tight)
	r.ID = run
	r.Guard = &containment.Guard{Run: run, Ledger: noLedger{}}
	engine := &lean{Engine: r.Engines["fake"].Engine, run: run, asked: map[string]bench.Bytes{}}
	r.Engines["fake"] = Engine{Engine: engine, Availability: bench.Availability{Version: "1"}}
	limits := map[bench.Bytes]bool{}
	r.Notify = func(e Event) {
		if fs, err := cgroup.Detect(); err == nil && e.Phase == "measure" {
			limits[limitOf(t, fs.Group(run+"/pool-"+e.Trial.ID))] = true
		}
	}
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if !limits[roomy.MemoryPool] || !limits[tight.MemoryPool] {
		t.Errorf("pools had limits of %v", limits)
	}
	for _, o := range s.outcomes {
		if o.Status != bench.Done || o.Pool == nil || len(o.Pool.Killed) > 0 {
			t.Fatalf("%s: %s: %s, %+v", o.Scene, o.Status, o.Error, o.Pool)
		}
		for _, a := range o.Actors {
			// The second instance of the tight scene has none, whatever it was asked.
			if want := o.Scene == "tight" && a.Actor == actors[0].Name; (a.Balloon != nil) != want {
				t.Errorf("%s, %s: balloon %+v", o.Scene, a.Actor, a.Balloon)
			}
		}
	}
	if len(engine.asked) != 2 {
		t.Errorf("asked: %v", engine.asked)
	}
	for id, to := range engine.asked {
		if to != 64*bench.MiB {
			t.Errorf("%s was asked to make do with %s", id, to)
		}
	}
	if fs, err := cgroup.Detect(); err == nil {
		for _, dir := range fs.Group(run).Dirs() {
			if _, err := os.Stat(dir); err == nil {
				t.Errorf("%s is left", dir)
			}
		}
	}
}

func limitOf(t *testing.T, g *cgroup.Group) bench.Bytes {
	t.Helper()
	v, err := bench.ParseBytes(memoryLimit(g.Dirs()))
	if err != nil {
		t.Error(err)
	}
	return v
}

// Where a pool had no room for all, what fails did not finish.
func TestStarvedInThePool(t *testing.T) {
	if starved(nil) {
		t.Error("without a pool")
	}
	if starved(&bench.Pool{}) {
		t.Error("nobody was killed")
	}
	for _, p := range []bench.Pool{{Killed: []string{"subject-2"}}, {Swapped: 1}} {
		if !starved(&p) {
			t.Errorf("%+v", p)
		}
	}
	o := &bench.Outcome{Pool: &bench.Pool{Swapped: 1}}
	if got := fate(t.Context(), &bench.Scene{}, o, false, errors.New("no more memory")); got != bench.DidNotFinish {
		t.Errorf("a subject that failed: %s", got)
	}
	if got := fate(t.Context(), &bench.Scene{}, o, false, fmt.Errorf("windows %w", errApart)); got != bench.Failed {
		t.Errorf("windows apart: %s", got)
	}
}

func TestSwapSpaces(t *testing.T) {
	for text, want := range map[string]string{
		"Filename Type Size Used Priority\n": "none",
		"Filename Type Size Used Priority\n/dev/sda2 partition 8388608 0 -2\n/state/swap file 1024 0 3\n": "/dev/sda2 8 GiB, /state/swap 1 MiB",
		"Filename Type Size Used Priority\n/dev/sda2 x\n":                                                 "",
	} {
		file := filepath.Join(t.TempDir(), "swaps")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := swapSpaces(file); got != want {
			t.Errorf("%q: %q, want %q", strings.TrimSpace(text), got, want)
		}
	}
}
