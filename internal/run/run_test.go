package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host/opened"
	"tare/internal/platform/fake"
	"tare/internal/platform/platformtest"
)

// counter is a workload that prints a number after it has worked for the
// measured time.
type counter struct{ begin, end string }

func (counter) Name() string          { return "counter" }
func (counter) Summary() string       { return "prints a number" }
func (counter) Resource() string      { return "other" }
func (counter) Params() []bench.Param { return nil }
func (counter) Parts() []string       { return nil }
func (counter) Programs() []string    { return nil }

func (counter) Metrics(bench.Params) ([]bench.Metric, error) {
	return []bench.Metric{{Name: "n", Unit: "n", Better: bench.HigherIsBetter, Combine: bench.Sum, Headline: true}}, nil
}

func (c counter) Steps(_ string, p bench.Params, s bench.Setting) (bench.Part, error) {
	script := p["script"]
	if script == "" {
		script = fmt.Sprintf("sleep %.2f; echo 7", s.Timing.Measure.Seconds())
	}
	return bench.Part{
		Prepare: []bench.Command{{Argv: []string{"true"}, Timeout: 5 * time.Second}},
		Main:    bench.Command{Argv: []string{"sh", "-c", script}, Timeout: 5 * time.Second},
		Begin:   c.begin, End: c.end,
	}, nil
}

func (counter) Parse(_ bench.Params, _ bench.Setting, out bench.Output) ([]bench.Value, error) {
	f := strings.Fields(string(out.Stdout))
	if len(f) == 0 {
		return nil, errors.New("nothing was printed")
	}
	n, err := strconv.ParseFloat(f[0], 64)
	if err != nil {
		return nil, err
	}
	return []bench.Value{{Metric: "n", Value: n}}, nil
}

// The default size of the scratch space is nothing that anybody asked for: that it is not enforced is said
// of one that is given.
func TestUnenforcedIsWhatWasAskedFor(t *testing.T) {
	plain, asked := subjects(1, nil), subjects(1, nil)
	asked[0].DiskAsked = true
	r, s := newRunner(t, counter{}, fake.Options{}, scene("plain", plain), scene("asked", asked))
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{false, true} {
		limits := s.outcomes[i].Actors[0].Unenforced
		if slices.Contains(limits, bench.DiskSize) != want || !slices.Contains(limits, "memory limit") {
			t.Errorf("%s: not enforced: %q", s.outcomes[i].Scene, limits)
		}
	}
}

// sink keeps what was stored.
type sink struct {
	outcomes []bench.Outcome
	samples  map[string][]bench.Sample
	outputs  map[string]map[string][]byte
	err      error
}

func (s *sink) Append(_ context.Context, o *bench.Outcome, samples []bench.Sample, outputs map[string][]byte) error {
	if s.err != nil {
		return s.err
	}
	if s.samples == nil {
		s.samples, s.outputs = map[string][]bench.Sample{}, map[string]map[string][]byte{}
	}
	s.outcomes = append(s.outcomes, *o)
	s.samples[o.Trial], s.outputs[o.Trial] = samples, outputs
	return nil
}

// noLedger forgets: the fake leaves nothing that outlives the test.
type noLedger struct{}

func (noLedger) Register(kind, name string) error { return nil }
func (noLedger) Release(kind, name string) error  { return nil }

// subjects makes n alike.
func subjects(n int, params bench.Params) []bench.Actor {
	var as []bench.Actor
	for i := range n {
		as = append(as, bench.Actor{Name: "subject-" + strconv.Itoa(i), Role: bench.Subject, Host: "local",
			Platform: bench.PlatformRef{Name: "fake"}, Shape: bench.Shape{CPUs: 1, Memory: bench.GiB},
			CPUSet: []int{0}, Workload: "counter", Params: params, Part: bench.SubjectPart})
	}
	return as
}

func newRunner(t *testing.T, w bench.Workload, o fake.Options, scenes ...bench.Scene) (*Runner, *sink) {
	t.Helper()
	p := fake.New(o)
	e, err := p.Open(t.Context(), bench.Env{Run: "test", AgentPath: platformtest.Agent(t), Dir: t.TempDir(), Ledger: noLedger{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close(context.Background()) })
	plan := &bench.Plan{Scenes: scenes}
	for i, s := range scenes {
		plan.Trials = append(plan.Trials, bench.Trial{ID: "b01-t0" + strconv.Itoa(i+1), Block: 1, Scene: s.ID})
	}
	s := &sink{}
	return &Runner{
		ID: "test", Plan: plan, Engines: map[string]Engine{"fake": {Engine: e, Availability: bench.Availability{Version: "1"}}},
		Workloads: map[string]bench.Workload{"counter": w}, Sink: s, Dir: t.TempDir(), Interval: 100 * time.Millisecond,
	}, s
}

func scene(id string, actors []bench.Actor) bench.Scene {
	return bench.Scene{ID: id, Kind: bench.One, Case: id, Actors: actors,
		Timing: bench.Timing{Measure: 350 * time.Millisecond, Deadline: 3 * time.Second}}
}

func TestTrialIsMeasuredAtEveryLevel(t *testing.T) {
	r, s := newRunner(t, counter{}, fake.Options{}, scene("a", subjects(2, nil)))
	r.Mixed = []string{"kernel: 1 when the run began, 2 now"}
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	o := s.outcomes[0]
	if o.Status != bench.Done {
		t.Fatalf("%s in %s: %s", o.Status, o.Phase, o.Error)
	}
	if !slices.Equal(o.Mixed, r.Mixed) {
		t.Errorf("it is mixed by %q, not %q", o.Mixed, r.Mixed)
	}
	if len(o.Values) != 1 || o.Values[0].Value != 14 {
		t.Errorf("two subjects of 7 each make %v", o.Values)
	}
	if width := time.Duration(o.Window[1] - o.Window[0]); width < 300*time.Millisecond || width > 3*time.Second {
		t.Errorf("window of %v for a run of 350 ms", width)
	}
	ats := map[bench.Level]map[int64]bool{}
	for _, x := range s.samples[o.Trial] {
		if ats[x.Level] == nil {
			ats[x.Level] = map[int64]bool{}
		}
		ats[x.Level][x.At] = true
	}
	for _, level := range []bench.Level{bench.Host, bench.Guest} {
		for _, edge := range o.Window {
			if !ats[level][edge] {
				t.Errorf("%s was not read at the window's edge %d", level, edge)
			}
		}
		if len(ats[level]) < 4 {
			t.Errorf("%s was read at %d instants in 350 ms at 10 Hz", level, len(ats[level]))
		}
	}
	last := int64(0)
	for _, p := range o.Phases {
		if p.Start < last || p.End < p.Start {
			t.Errorf("phase %s from %d to %d after %d", p.Name, p.Start, p.End, last)
		}
		last = p.End
	}
	if got := string(s.outputs[o.Trial]["subject-0.stdout"]); got != "7\n" {
		t.Errorf("kept output %q", got)
	}
	left, err := os.ReadDir(r.Dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left in the run's directory: %v, %v", left, err)
	}
}

func TestStartupMeasuresTheLaunch(t *testing.T) {
	a := subjects(1, nil)
	a[0].Workload = ""
	sc := scene("s", a)
	sc.Kind = bench.Startup
	r, s := newRunner(t, counter{}, fake.Options{}, sc)
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	v := map[string]float64{}
	for _, x := range s.outcomes[0].Values {
		v[x.Metric] = x.Value
	}
	if v["time_to_ready"] <= 0 || v["time_to_first_command"] < v["time_to_ready"] {
		t.Errorf("ready after %v ms, first command after %v ms", v["time_to_ready"], v["time_to_first_command"])
	}
	u := s.outcomes[0].Actors[0].StartUp
	if u == nil {
		t.Fatalf("no phases; warnings %q", s.outcomes[0].Warnings)
	}
	if err := u.Check(); err != nil {
		t.Error(err)
	}
	var sum int64
	for _, p := range u.Phases {
		sum += p.End - p.Start
	}
	if first := v["time_to_first_command"]; math.Abs(float64(sum)/1e6-first) > 1e-6*first || u.Phase(bench.PhaseAgent) <= 0 || len(u.Own) == 0 {
		t.Errorf("the phases sum to %d ns of %v ms: %+v", sum, first, u)
	}
}

// A platform whose driver does not know what a launch reads cannot be started cold.
func TestColdNeedsToKnowTheFiles(t *testing.T) {
	a := subjects(1, nil)
	a[0].Workload = ""
	sc := scene("s", a)
	sc.Kind, sc.Cache = bench.Startup, bench.Cold
	r, s := newRunner(t, counter{}, fake.Options{}, sc)
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	o := s.outcomes[0]
	if o.Status != bench.Failed || o.Phase != "setup" || !strings.Contains(o.Error, "it is not known which files its launches read") || o.Hint == "" {
		t.Errorf("%s in %s: %s, hint %q", o.Status, o.Phase, o.Error, o.Hint)
	}
}

// behindWrapper is an engine whose launches execute a program first, and which notes how much of a file
// is in the page cache then.
type behindWrapper struct {
	bench.Engine
	t             *testing.T
	program, file string
	cached        []int // pages at each launch
}

func (*behindWrapper) Reads() []string { return nil }

func (e *behindWrapper) Start(ctx context.Context, l bench.Launch) (bench.Instance, error) {
	e.cached = append(e.cached, cachedPages(e.t, e.file))
	if out, err := exec.Command(e.program).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	return e.Engine.Start(ctx, l)
}

// cachedPages counts the pages of a file that are in the page cache, by mincore(2).
func cachedPages(t *testing.T, path string) (n int) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	m, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(m)
	pages := make([]byte, len(m)/os.Getpagesize()+1)
	if _, _, e := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&m[0])), uintptr(len(m)), uintptr(unsafe.Pointer(&pages[0]))); e != 0 {
		t.Fatal(e)
	}
	for _, p := range pages {
		n += int(p & 1)
	}
	return n
}

// A program that a launch executes is out of the page cache before a cold one, though its driver
// names another: a script in front of it.
func TestColdBehindAWrapper(t *testing.T) {
	real := "/usr/bin/crun"
	if _, err := os.Stat(real); err != nil {
		real = "/bin/sh"
	}
	binary, err := os.ReadFile(real)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/var/tmp", "tare-cold-") // on a disk: files in memory stay
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	behind, wrapper := filepath.Join(dir, "behind"), filepath.Join(dir, "wrapper")
	for path, data := range map[string][]byte{behind: binary, wrapper: []byte("#!/bin/sh\nexec " + behind + " --help\n")} {
		if err := os.WriteFile(path, data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	a := subjects(1, nil)
	a[0].Workload = ""
	first := scene("a", a)
	first.Kind, first.Cache = bench.Startup, bench.Cold
	again := first
	again.ID = "b"
	r, s := newRunner(t, counter{}, fake.Options{}, first, again)
	w, err := opened.Begin()
	if errors.Is(err, bench.ErrUnavailable) {
		t.Skip(err)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	e := r.Engines["fake"]
	engine := &behindWrapper{Engine: e.Engine, t: t, program: wrapper, file: behind}
	e.Engine, e.Programs = engine, map[string]string{wrapper: "1"}
	r.Engines["fake"], r.AgentPath = e, platformtest.Agent(t)
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for _, o := range s.outcomes {
		if len(o.Warnings) > 0 {
			t.Errorf("%s: %s in %s: %s %q", o.Scene, o.Status, o.Phase, o.Error, o.Warnings)
		}
	}
	// The launch that is followed comes once, and finds what was just written.
	if len(engine.cached) != 3 || engine.cached[0] == 0 || engine.cached[1] != 0 || engine.cached[2] != 0 {
		t.Errorf("%d pages of the program were cached at the launches; want some at the first, which is not timed, then none at two", engine.cached)
	}
}

// In a block whose CPUs are exchanged, actors are launched on those that stand in for theirs.
func TestExchangedCPUs(t *testing.T) {
	r, s := newRunner(t, counter{}, fake.Options{}, scene("a", subjects(1, nil)))
	second := r.Plan.Trials[0]
	second.ID, second.Block = "b02-t02", 2
	r.Plan.Trials = append(r.Plan.Trials, second)
	r.Plan.Exchanged = []map[int]int{nil, {0: 3, 3: 0}}
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]int{{0}, {3}} {
		if got := s.outcomes[i].Actors[0].CPUSet; !slices.Equal(got, want) {
			t.Errorf("block %d: the subject was on %v, want %v", i+1, got, want)
		}
	}
}

// Before a warm launch there is one that is not timed, unless the platform was launched already.
func TestWarmLaunchesBefore(t *testing.T) {
	a := subjects(1, nil)
	a[0].Workload = ""
	first := scene("a", a)
	first.Kind, first.Cache = bench.Startup, bench.Warm
	again := first
	again.ID = "b"
	var launches []string
	r, s := newRunner(t, counter{}, fake.Options{Fault: func(l bench.Launch) fake.Fault {
		launches = append(launches, l.ID)
		return fake.Fault{}
	}}, first, again)
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if len(s.outcomes) != 2 || s.outcomes[0].Status != bench.Done || s.outcomes[1].Status != bench.Done {
		t.Fatalf("outcomes %+v", s.outcomes)
	}
	if want := []string{"test-b01-t01-0w", "test-b01-t01-0", "test-b01-t02-0"}; !slices.Equal(launches, want) {
		t.Errorf("launched %q, want %q", launches, want)
	}
	if left, err := os.ReadDir(r.Dir); err != nil || len(left) > 0 {
		t.Errorf("left in the run's directory: %v, %v", left, err)
	}
}

// A trial that fails is recorded with the phase and the reason, and the next runs.
func TestFailureIsRecordedAndTheRunGoesOn(t *testing.T) {
	for _, c := range []struct {
		name, script, phase, want string
		fault                     fake.Fault
	}{
		{name: "start", fault: fake.Fault{Start: errors.New("no room")}, phase: "launch", want: "no room"},
		{name: "silent", fault: fake.Fault{Silent: true}, phase: "launch", want: "3s"},
		{name: "dies", script: "kill -9 $PPID; sleep 60", phase: "measure", want: "subject-0"}, // its parent is the agent
		{name: "close", fault: fake.Fault{Close: errors.New("stuck")}, phase: "close", want: "stuck"},
		{name: "exit", script: "echo broken >&2; exit 3", phase: "measure", want: "exit status 3"},
		{name: "parse", script: "sleep 0.1; echo seven", phase: "collect", want: "seven"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var params bench.Params
			if c.script != "" {
				params = bench.Params{"script": c.script}
			}
			first := true
			fault := func(bench.Launch) fake.Fault {
				if first {
					first = false
					return c.fault
				}
				return fake.Fault{}
			}
			r, s := newRunner(t, counter{}, fake.Options{Fault: fault}, scene("bad", subjects(1, params)), scene("good", subjects(1, nil)))
			if err := r.Run(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			bad, good := s.outcomes[0], s.outcomes[1]
			if bad.Status != bench.Failed || bad.Phase != c.phase || !strings.Contains(bad.Error, c.want) {
				t.Errorf("%s in %q: %q; want failed in %s with %q", bad.Status, bad.Phase, bad.Error, c.phase, c.want)
			}
			if len(bad.Values) > 0 {
				t.Errorf("a failed trial has values %v", bad.Values)
			}
			if good.Status != bench.Done {
				t.Errorf("the trial after it: %s: %s", good.Status, good.Error)
			}
		})
	}
}

// patient is a counter that may take its time.
type patient struct{ counter }

func (p patient) Steps(part string, params bench.Params, s bench.Setting) (bench.Part, error) {
	steps, err := p.counter.Steps(part, params, s)
	steps.Main.Timeout = time.Minute
	return steps, err
}

// An agent that talks, and reads nothing of what it is sent, ends its trial with that reason, whether it is the
// sampler's write that waits for it or another.
func TestDeafAgentFailsTheTrial(t *testing.T) {
	r, s := newRunner(t, patient{}, fake.Options{Fault: func(bench.Launch) fake.Fault { return fake.Fault{DeafAfter: time.Second} }},
		scene("deaf", subjects(1, bench.Params{"script": "sleep 40; echo 7"})))
	began := time.Now()
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	o := s.outcomes[0]
	if o.Status != bench.Failed || o.Phase != "measure" || !strings.Contains(o.Error, "it reads nothing") || len(o.Values) > 0 {
		t.Errorf("%s in %q: %q, values %v", o.Status, o.Phase, o.Error, o.Values)
	}
	if took := time.Since(began); took > 35*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestCancelledTrialIsAborted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, s := newRunner(t, counter{}, fake.Options{}, scene("a", subjects(1, bench.Params{"script": "sleep 5"})), scene("b", subjects(1, nil)))
	r.Notify = func(e Event) {
		if e.Phase == "measure" {
			time.AfterFunc(50*time.Millisecond, cancel)
		}
	}
	if err := r.Run(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("run ended with %v", err)
	}
	if len(s.outcomes) != 1 || s.outcomes[0].Status != bench.Aborted {
		t.Fatalf("outcomes: %+v", s.outcomes)
	}
}

func TestFinishedTrialsAreNotRunAgain(t *testing.T) {
	r, s := newRunner(t, counter{}, fake.Options{}, scene("a", subjects(1, nil)), scene("b", subjects(1, nil)))
	if err := r.Run(t.Context(), map[string]bool{"b01-t01": true}); err != nil {
		t.Fatal(err)
	}
	if len(s.outcomes) != 1 || s.outcomes[0].Trial != "b01-t02" {
		t.Errorf("ran %+v", s.outcomes)
	}
}

func TestRunStopsWhenAnOutcomeCannotBeStored(t *testing.T) {
	r, s := newRunner(t, counter{}, fake.Options{}, scene("a", subjects(1, nil)))
	s.err = errors.New("disk full")
	if err := r.Run(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("run ended with %v", err)
	}
}

// The text that ends the window ends the program, and that is not a failure.
func TestMarkersOpenAndCloseTheWindow(t *testing.T) {
	script := "echo 7; sleep 0.2; echo ==begin; sleep 0.2; echo ==end; sleep 4"
	r, s := newRunner(t, counter{begin: "==begin", end: "==end"}, fake.Options{}, scene("a", subjects(1, bench.Params{"script": script})))
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	o := s.outcomes[0]
	if o.Status != bench.Done {
		t.Fatalf("%s: %s", o.Status, o.Error)
	}
	if width := time.Duration(o.Window[1] - o.Window[0]); width < 150*time.Millisecond || width > 2*time.Second {
		t.Errorf("window of %v between texts 200 ms apart", width)
	}
}

// Each subject gets the address of the server that serves it.
func TestAddressesAreThoseOfOnesOwnPeers(t *testing.T) {
	var all cast
	for i := range 2 {
		name := "subject-" + strconv.Itoa(i)
		all = append(all,
			&actor{Actor: bench.Actor{Name: name, Role: bench.Subject, Part: bench.SubjectPart}},
			&actor{Actor: bench.Actor{Name: "peer-" + name, Role: bench.Peer, Part: "server", Serves: name},
				addr: netip.AddrFrom4([4]byte{10, 0, 0, byte(i)})})
	}
	for _, a := range all {
		i := byte(0)
		if strings.HasSuffix(a.Name, "1") {
			i = 1
		}
		if got := all.addresses(a)["server"]; got != netip.AddrFrom4([4]byte{10, 0, 0, i}) {
			t.Errorf("%s is told of the server at %v", a.Name, got)
		}
	}
}

func TestDriversDoNotSeeTheAlias(t *testing.T) {
	a := subjects(1, nil)
	a[0].Workload = ""
	a[0].Platform.Options = map[string]string{bench.AliasOption: "b", "net": "host"}
	sc := scene("s", a)
	sc.Kind = bench.Startup
	var seen map[string]string
	r, s := newRunner(t, counter{}, fake.Options{Fault: func(l bench.Launch) fake.Fault {
		seen = l.Options
		return fake.Fault{}
	}}, sc)
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 1 || seen["net"] != "host" {
		t.Errorf("the driver was given %v", seen)
	}
	if got := s.outcomes[0].Actors[0].Platform.String(); got != "fake[as=b,net=host]" {
		t.Errorf("the outcome is of %s", got)
	}
}

func TestInjectedStartupLengthensTheLaunchByItsShare(t *testing.T) {
	slow := subjects(1, nil)
	slow[0].Workload = ""
	slow[0].Injection = &bench.Injection{Startup: 9}
	sc := scene("a", slow)
	sc.Kind = bench.Startup
	r, s := newRunner(t, counter{}, fake.Options{}, sc)
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	o := s.outcomes[0]
	values := map[string]float64{}
	for _, v := range o.Values {
		values[v.Metric] = v.Value
	}
	// The first command ends after the agent is ready, and ten times as late.
	if o.Status != bench.Done || values["time_to_first_command"] < 10*values["time_to_ready"] {
		t.Errorf("%s: %v", o.Error, values)
	}
}
