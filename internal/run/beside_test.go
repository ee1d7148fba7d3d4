package run

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/platform/fake"
	"tare/internal/run/containment"
)

// withNeighbour adds a neighbour that runs the script to a subject that runs its own.
func withNeighbour(subject, neighbour string) bench.Scene {
	actors := subjects(1, bench.Params{"script": subject})
	n := actors[0]
	n.Name, n.Role, n.Params = "neighbour", bench.Neighbour, bench.Params{"script": neighbour}
	s := scene("beside", append(actors, n))
	s.Kind = bench.Beside
	return s
}

// What becomes of a subject beside a neighbour is a finding where it is killed, or where the same
// scene without the neighbour shows how it does alone. Otherwise what a program does of its own
// accord is a failure.
func TestSubjectDoesNotFinish(t *testing.T) {
	const crash, killed, exits, garbled = "sleep 0.2; kill -SEGV $$", "sleep 0.2; kill -KILL $$", "sleep 0.2; exit 1", "sleep 0.3; echo words"
	wants := []struct {
		script string
		scene  func(script string) bench.Scene
		status bench.Status
		phase  string
		says   string
	}{
		{crash, func(s string) bench.Scene { return scene("alone", subjects(1, bench.Params{"script": s})) }, bench.Failed, "measure", "SEGV"},
		{crash, besides, bench.Failed, "measure", "SEGV"},
		{exits, besides, bench.Failed, "measure", "exit status 1"},
		{garbled, besides, bench.Failed, "collect", "words"},
		{killed, besides, bench.DidNotFinish, "measure", "KILL"},
		{"sleep 0.2; sh -c 'kill -KILL $$'; exit $?", besides, bench.DidNotFinish, "measure", "exit status 137"},
		{crash, againstAlone, bench.DidNotFinish, "measure", "SEGV"},
		{exits, againstAlone, bench.DidNotFinish, "measure", "exit status 1"},
		{garbled, againstAlone, bench.DidNotFinish, "collect", "words"},
	}
	var scenes []bench.Scene
	for i, w := range wants {
		s := w.scene(w.script)
		s.ID = strconv.Itoa(i)
		scenes = append(scenes, s)
	}
	r, s := newRunner(t, counter{}, fake.Options{}, scenes...)
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for i, want := range wants {
		o := s.outcomes[i]
		if o.Status != want.status || o.Phase != want.phase || !strings.Contains(strings.ToUpper(o.Error), strings.ToUpper(want.says)) {
			t.Errorf("%d, %q: %s in %s: %s; want %s in %s", i, want.script, o.Status, o.Phase, o.Error, want.status, want.phase)
		}
		if !o.Status.Final() || len(o.Values) > 0 {
			t.Errorf("%s: final %v, values %v", o.Scene, o.Status.Final(), o.Values)
		}
	}
}

func besides(script string) bench.Scene { return withNeighbour(script, "sleep 0.05") }

// againstAlone is such a scene, set against one without the neighbour.
func againstAlone(script string) bench.Scene {
	s := besides(script)
	s.Relative = &bench.Relative{To: "alone"}
	return s
}

// A neighbour's program that ends is started again until the subject is
// through; one that fails is not, and its end is recorded.
func TestNeighbourIsRepeated(t *testing.T) {
	runs := filepath.Join(t.TempDir(), "runs")
	const measured = "sleep 0.5; echo 7"
	failing := withNeighbour(measured, "echo no room >&2; exit 3")
	failing.ID = "failing"
	r, s := newRunner(t, counter{}, fake.Options{}, withNeighbour(measured, "echo x >> "+runs+"; sleep 0.02"), failing)
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(runs)
	if err != nil || len(text) < 2*2 {
		t.Errorf("it ran %q, %v", text, err)
	}
	for i, o := range s.outcomes {
		if o.Status != bench.Done {
			t.Errorf("%s: %s: %s", o.Scene, o.Status, o.Error)
			continue
		}
		n := o.Actors[1]
		if i == 0 && n.Ended != "" || i == 1 && !strings.Contains(n.Ended, "exit status 3: \"no room\"") {
			t.Errorf("%s: the neighbour ended %q", o.Scene, n.Ended)
		}
		if n.EndedBy != "" {
			t.Errorf("%s: the neighbour was stopped by its limit of %s", o.Scene, n.EndedBy)
		}
		if early := n.EndedAt > 0 && n.EndedAt < o.Window[1]; early != (i == 1) {
			t.Errorf("%s: the neighbour ended at %d, the window is %v", o.Scene, n.EndedAt, o.Window)
		}
		if len(n.Command) == 0 {
			t.Errorf("%s: no command of the neighbour", o.Scene)
		}
	}
}

// A neighbour that is read does its work once, in the window of both, and what it did is a value beside
// that of both together.
func TestNeighbourIsRead(t *testing.T) {
	runs := filepath.Join(t.TempDir(), "runs")
	sc := withNeighbour("sleep 0.3; echo 7", "echo x >> "+runs+"; sleep 0.2; echo 5")
	sc.Actors[1].Read = true
	r, s := newRunner(t, counter{}, fake.Options{}, sc)
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	o := s.outcomes[0]
	if o.Status != bench.Done {
		t.Fatalf("%s: %s", o.Status, o.Error)
	}
	got := map[string]float64{}
	for _, v := range o.Values {
		got[v.Metric] = v.Value
	}
	if want := (map[string]float64{"n": 7, bench.NeighbourMetric: 5, bench.TogetherMetric: 12}); !maps.Equal(got, want) {
		t.Errorf("values %v, want %v", got, want)
	}
	if text, err := os.ReadFile(runs); err != nil || strings.Count(string(text), "x") != 1 {
		t.Errorf("it ran %q, %v", text, err)
	}
}

// A containment that cannot be made fails the trial before an adversary begins.
func TestAdversaryNeedsAGuard(t *testing.T) {
	sc := withNeighbour("echo 7", "touch /must/not/run")
	sc.Actors[1].Containment = &bench.Containment{Pids: 100, Memory: bench.GiB, Time: time.Minute}
	r, s := newRunner(t, counter{}, fake.Options{}, sc)
	if err := r.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if o := s.outcomes[0]; o.Status != bench.Failed || o.Phase != "launch" || !strings.Contains(o.Error, "needs a containment") {
		t.Errorf("%s in %s: %s", o.Status, o.Phase, o.Error)
	}
}

// An adversary runs in a containment that bounds it, or the trial fails before
// anything is launched, whatever the plan says.
func TestAdversaryNeedsContainment(t *testing.T) {
	for says, limits := range map[string]*bench.Containment{
		"neighbour runs counter, which is adversarial, and the plan has no containment for it": nil,
		"the containment of neighbour bounds nothing: 0 tasks, 1073741824 bytes of memory":     {Memory: bench.GiB, Time: time.Minute},
		"the containment of neighbour bounds nothing: 100 tasks, -1 bytes of memory":           {Pids: 100, Memory: -1, Time: time.Minute},
	} {
		ran := filepath.Join(t.TempDir(), "ran")
		sc := withNeighbour("echo 7", "touch "+ran)
		sc.Actors[0].Workload = "victim"
		sc.Actors[1].Containment = limits
		r, s := newRunner(t, attacker{}, fake.Options{}, sc)
		r.Workloads["victim"] = counter{}
		r.Guard = &containment.Guard{Run: "test", Ledger: noLedger{}}
		if err := r.Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		o := s.outcomes[0]
		if o.Status != bench.Failed || o.Phase != "launch" || !strings.Contains(o.Error, says) || o.Hint == "" || len(o.Actors) > 0 {
			t.Errorf("%s in %s: %s; launched %+v", o.Status, o.Phase, o.Error, o.Actors)
		}
		if _, err := os.Stat(ran); err == nil {
			t.Error("the adversary ran")
		}
	}
}

// What ends a subject beside a neighbour decides what it says: the time of a
// containment says nothing of the platform.
func TestFate(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	late := &unfinished{&hostStarved{}}
	for name, c := range map[string]struct {
		ctx   context.Context
		began bool
		err   error
		watch *bench.Watch
		want  bench.Status
	}{
		"the containment's time limit was reached": {t.Context(), true, late, &bench.Watch{Overdue: true}, bench.Overdue},
		"the host suffered":                        {t.Context(), true, late, &bench.Watch{Ended: "no memory"}, bench.DidNotFinish},
		"no containment":                           {t.Context(), true, &unfinished{errors.New("crashed")}, nil, bench.DidNotFinish},
		"before the neighbours began":              {t.Context(), false, &unfinished{errors.New("crashed")}, nil, bench.Failed},
		"not the subject's":                        {t.Context(), true, errors.New("no such file"), &bench.Watch{Overdue: true}, bench.Failed},
		"stopped from outside":                     {stopped, true, late, &bench.Watch{Overdue: true}, bench.Aborted},
	} {
		if got := fate(c.ctx, &bench.Scene{}, &bench.Outcome{Watch: c.watch}, c.began, c.err); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// attacker is a workload of two parts, of which the peer's means harm.
type attacker struct{ counter }

func (attacker) Attacks(part string) bool { return part == "attacker" }

func TestOrderOfPreparation(t *testing.T) {
	var all cast
	for _, a := range []bench.Actor{
		{Name: "load", Role: bench.Peer, Workload: "counter", Part: "load", Serves: "subject"},
		{Name: "neighbour-load", Role: bench.Peer, Workload: "counter", Part: "load", Serves: "neighbour"},
		{Name: "neighbour", Role: bench.Neighbour, Workload: "counter"},
		{Name: "flooded", Role: bench.Neighbour, Workload: "attack", Part: bench.SubjectPart},
		{Name: "subject", Role: bench.Subject, Workload: "counter"},
		{Name: "flooded-peer", Role: bench.Peer, Workload: "attack", Part: "attacker", Serves: "flooded"},
		{Name: "neighbour-peer", Role: bench.Peer, Workload: "counter", Part: "server", Serves: "neighbour"},
		{Name: "peer", Role: bench.Peer, Workload: "counter", Part: "server", Serves: "subject"},
	} {
		all = append(all, &actor{Actor: a, part: bench.Part{Service: a.Part != "load"}})
	}
	var names []string
	for _, a := range all.inOrder(map[string]bench.Workload{"counter": counter{}, "attack": attacker{}}) {
		names = append(names, a.Name)
	}
	if got, want := strings.Join(names, " "), "subject peer load neighbour-peer neighbour flooded neighbour-load flooded-peer"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A neighbour that says which limit of its own it came to was stopped by that one.
func TestNeighbourIsStoppedByItsLimit(t *testing.T) {
	for _, c := range []struct{ says, limit string }{
		{"bonnie: write failed: No space left on device", bench.OwnDisk},
		{"sh: cannot fork: Resource temporarily unavailable", bench.OwnTasks},
		{"perl: Out of memory!", bench.OwnMemory},
		{"stress-ng: Cannot allocate memory", bench.OwnMemory},
		{"no such file", ""},
		{"", ""},
	} {
		if got := limitSaid(bench.Output{Exit: 1, Stderr: []byte(c.says)}, nil); got != c.limit {
			t.Errorf("%q: %q, want %q", c.says, got, c.limit)
		}
		if got := limitSaid(bench.Output{}, errors.New(c.says)); got != c.limit {
			t.Errorf("%q as an error: %q, want %q", c.says, got, c.limit)
		}
	}
}
