package run

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/platform/fake"
)

// launchedIn is the outcome of a scene of one platform: up, or why it did not come up.
func launchedIn(scene, platform, why string) *bench.Outcome {
	o := &bench.Outcome{Scene: scene, Status: bench.Done,
		Actors: []bench.ActorOutcome{{Actor: "subject", Platform: bench.PlatformRef{Name: platform}, ReadyMS: 5}}}
	if why != "" {
		o.Status, o.Phase, o.Error = bench.Failed, "launch", "launch subject on "+platform+": "+why
		o.Actors[0].ReadyMS = 0
	}
	return o
}

func TestGivenUp(t *testing.T) {
	const panicked = "agent: the guest's kernel panicked: Attempted to kill init! exitcode=0x0000000b"
	up := func(scene string) *bench.Outcome { return launchedIn(scene, "uml", "") }
	fails := func(scene, why string) *bench.Outcome { return launchedIn(scene, "uml", why) }
	in := func(o *bench.Outcome, change func(*bench.Outcome)) *bench.Outcome { change(o); return o }
	crowd := in(fails("b", "no room"), func(o *bench.Outcome) {
		o.Actors = append([]bench.ActorOutcome{{Actor: "idle", Platform: bench.PlatformRef{Name: "uml"}, ReadyMS: 4}}, o.Actors...)
	})
	for what, c := range map[string]struct {
		seen []*bench.Outcome
		a, b bool // whether uml is given up in the scenes
	}{
		"nothing has run":           {nil, false, false},
		"one failure":               {[]*bench.Outcome{fails("a", panicked)}, false, false},
		"two alike, in two scenes":  {[]*bench.Outcome{fails("a", panicked), fails("b", panicked)}, true, true},
		"two of another kind":       {[]*bench.Outcome{fails("a", panicked), fails("b", "not up after 1m30s")}, false, false},
		"alike but for names":       {[]*bench.Outcome{fails("a", "run-b01-t1-0: process 4711, 0xfe: gone"), fails("a", "run-b02-t3-0: process 812, 0xac: gone")}, true, true},
		"alike but for the log":     {[]*bench.Outcome{fails("a", "xl create: exit status 1\nlog 1"), fails("a", "xl create: exit status 1\nother")}, true, true},
		"another between":           {[]*bench.Outcome{fails("a", panicked), launchedIn("a", "native", ""), fails("a", panicked)}, true, true},
		"one that came up between":  {[]*bench.Outcome{fails("a", panicked), up("b"), fails("a", panicked)}, false, false},
		"it came up, one scene not": {[]*bench.Outcome{up("b"), fails("a", "no room"), up("b"), fails("a", "no room")}, true, false},
		"it came up in that scene":  {[]*bench.Outcome{up("a"), fails("a", "no room"), up("a"), fails("a", "no room")}, false, false},
		"it came up in part":        {[]*bench.Outcome{crowd, crowd}, false, true},
		"it ran and then failed": {[]*bench.Outcome{in(fails("a", "x"), func(o *bench.Outcome) { o.Phase = "measure" }),
			in(fails("a", "x"), func(o *bench.Outcome) { o.Phase = "measure" })}, false, false},
		"beside a bomb":      {[]*bench.Outcome{in(fails("a", "x"), func(o *bench.Outcome) { o.Status = bench.DidNotFinish }), fails("a", "x")}, false, false},
		"stopped by Ctrl-C":  {[]*bench.Outcome{in(fails("a", "x"), func(o *bench.Outcome) { o.Status = bench.Aborted }), fails("a", "x")}, false, false},
		"before any launch":  {[]*bench.Outcome{{Scene: "a", Status: bench.Failed, Phase: "launch", Error: "no pool", Actors: make([]bench.ActorOutcome, 1)}, fails("a", "no pool")}, false, false},
		"given up, not seen": {[]*bench.Outcome{fails("a", "x"), in(fails("a", "x"), func(o *bench.Outcome) { o.GivenUp = "uml" })}, false, false},
	} {
		var r record
		for _, o := range c.seen {
			r.learn(o)
		}
		for id, want := range map[string]bool{"a": c.a, "b": c.b} {
			end, got := r.givenUp(&bench.Scene{ID: id, Actors: []bench.Actor{{Platform: bench.PlatformRef{Name: "native"}}, {Platform: bench.PlatformRef{Name: "uml"}}}})
			if got != want || got && (end.platform != "uml" || end.why == "" || strings.Contains(end.why, "launch subject")) {
				t.Errorf("%s: in %s given up: %t, %+v", what, id, got, end)
			}
		}
		if _, got := r.givenUp(&bench.Scene{ID: "a", Actors: []bench.Actor{{Platform: bench.PlatformRef{Name: "uml", Options: map[string]string{"cache": "sync"}}}}}); got {
			t.Errorf("%s: another variant is given up", what)
		}
	}
}

// failing is a runner of start-ups of two scenes in three blocks whose platform never starts,
// and counts how often it was asked to.
func failing(t *testing.T) (r *Runner, s *sink, starts *int) {
	t.Helper()
	r, s, _ = blocked(t, nil)
	starts = new(int)
	e, err := fake.New(fake.Options{Fault: func(l bench.Launch) fake.Fault {
		*starts++
		return fake.Fault{Start: fmt.Errorf("%s: the kernel panicked", l.ID)}
	}}).Open(t.Context(), bench.Env{Run: "test", Dir: t.TempDir(), Ledger: noLedger{}})
	if err != nil {
		t.Fatal(err)
	}
	r.Engines["fake"] = Engine{Engine: e}
	return r, s, starts
}

// A platform that fails twice in the same way is launched no more, and each of its further
// trials is stored as failed with the reason.
func TestAPlatformIsGivenUp(t *testing.T) {
	r, s, starts := failing(t)
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if *starts != 2 || len(s.outcomes) != 6 {
		t.Fatalf("%d launches, %d outcomes", *starts, len(s.outcomes))
	}
	for n, o := range s.outcomes {
		given := n >= 2
		if o.Status != bench.Failed || (o.GivenUp == "fake") != given || strings.HasPrefix(o.Error, "not launched: fake failed twice") != given ||
			!strings.Contains(o.Error, "the kernel panicked") || given && !strings.Contains(o.Hint, "--keep-trying") {
			t.Errorf("%s: %s, given up %q: %s (%s)", o.Trial, o.Status, o.GivenUp, o.Error, o.Hint)
		}
	}
	r, _, starts = failing(t)
	r.Plan.KeepTrying = true
	if err := r.Run(t.Context(), nil); err != nil || *starts != 6 {
		t.Errorf("told to keep trying: %d launches, %v", *starts, err)
	}
}

// A run that was stopped after any trial gives up what it would have.
func TestAResumedRunGivesUpTheSame(t *testing.T) {
	whole, all, _ := failing(t)
	if err := whole.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for n := range all.outcomes {
		r, s, starts := failing(t)
		before, finished := all.outcomes[:n], map[string]bool{}
		for _, o := range before {
			finished[o.Trial] = true
		}
		r.Before = outcomesOf(before, nil)
		if err := r.Run(t.Context(), finished); err != nil {
			t.Fatal(err)
		}
		if want := max(0, 2-n); *starts != want {
			t.Errorf("after %d trials: %d launches, want %d", n, *starts, want)
		}
		for i, o := range s.outcomes {
			if want := all.outcomes[n+i]; o.Trial != want.Trial || o.Status != want.Status || o.GivenUp != want.GivenUp || wayOf(o.Error) != wayOf(want.Error) {
				t.Errorf("after %d trials: %+v, want %+v", n, o, want)
			}
		}
	}
	r, s, _ := failing(t)
	broken := errors.New("trials.jsonl: line 1")
	r.Before = outcomesOf(nil, broken)
	if err := r.Run(t.Context(), nil); !errors.Is(err, broken) || len(s.outcomes) > 0 {
		t.Errorf("what it cannot read: %v, %d outcomes", err, len(s.outcomes))
	}
}

func outcomesOf(list []bench.Outcome, last error) iter.Seq2[*bench.Outcome, error] {
	return func(yield func(*bench.Outcome, error) bool) {
		for _, o := range slices.Clone(list) {
			if !yield(&o, nil) {
				return
			}
		}
		if last != nil {
			yield(nil, last)
		}
	}
}

// An outcome names the actors that were launched: one without a name could not be stored, and the run
// would end there.
func TestATrialThatEndsBeforeAnActorsLaunch(t *testing.T) {
	first := func(l bench.Launch) fake.Fault {
		if strings.HasSuffix(l.ID, "-0") {
			return fake.Fault{Start: errors.New("no room")}
		}
		return fake.Fault{}
	}
	alone := subjects(1, nil)
	alone[0].Workload = ""
	cold := scene("cold", alone)
	cold.Kind, cold.Cache = bench.Startup, bench.Cold // which the fake cannot be, and so is not launched
	r, s := newRunner(t, counter{}, fake.Options{Fault: first}, scene("two", subjects(2, nil)), cold)
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if len(s.outcomes) != 2 {
		t.Fatalf("%d outcomes", len(s.outcomes))
	}
	for n, o := range s.outcomes {
		if o.Status != bench.Failed || len(o.Actors) != 1-n {
			t.Errorf("%s in %s: %s, with %d actors", o.Status, o.Phase, o.Error, len(o.Actors))
		}
		for _, a := range o.Actors {
			if a.Actor == "" {
				t.Errorf("%s: %+v", o.Trial, a)
			}
		}
	}
}

// What is known of a launch that is not timed stays in the outcome when the trial ends with it.
func TestTheLastWordsOfALaunchThatIsNotTimed(t *testing.T) {
	alone := subjects(1, nil)
	alone[0].Workload = ""
	warm := scene("warm", alone)
	warm.Kind, warm.Cache, warm.Timing.Deadline = bench.Startup, bench.Warm, 300*time.Millisecond
	r, s := newRunner(t, counter{}, fake.Options{Fault: func(bench.Launch) fake.Fault { return fake.Fault{Silent: true} }}, warm)
	e := r.Engines["fake"]
	e.Engine = lastWords{e.Engine}
	r.Engines["fake"] = e
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	o := s.outcomes[0]
	if o.Status != bench.Failed || o.Phase != "setup" || len(o.Actors) != 1 || o.Actors[0].Actor != alone[0].Name || o.Actors[0].Log != "no disk" {
		t.Errorf("%s in %s: %s, %+v", o.Status, o.Phase, o.Error, o.Actors)
	}
}

// lastWords are of an engine whose instances all say the same.
type lastWords struct{ bench.Engine }

func (e lastWords) Start(ctx context.Context, l bench.Launch) (bench.Instance, error) {
	i, err := e.Engine.Start(ctx, l)
	return spoken{i}, err
}

type spoken struct{ bench.Instance }

func (spoken) Log() string { return "no disk" }
