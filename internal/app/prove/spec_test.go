package prove_test

import (
	"reflect"
	"testing"
	"time"

	"tare/internal/analysis/stats"
	"tare/internal/app/planning"
	"tare/internal/bench"
	"tare/internal/plan"
	"tare/internal/selftest"
	"tare/internal/spec"
)

func planOf(t *testing.T, text []byte, platforms ...string) *bench.Plan {
	t.Helper()
	words := planning.Catalog{Dir: t.TempDir()}.Words()
	e, err := spec.Parse("x.yaml", text, nil, words)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	in := plan.Inputs{Words: words, Host: plan.Host{CPUs: []int{0, 1}}, Available: map[string]bench.Availability{}}
	for _, p := range platforms {
		in.Available[p] = bench.Availability{}
	}
	p, err := plan.Make(e, in)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The cost of observing is measured on every platform with meters and without,
// and pidstat and docker stats watch docker alone.
func TestCostSpec(t *testing.T) {
	text, err := selftest.CostSpec([]string{"native", "docker"}, selftest.CostCases(), 7, 2*time.Second, true)
	if err != nil {
		t.Fatal(err)
	}
	p := planOf(t, text, "native", "docker")
	if len(p.Scenes) != 4*4+2 || p.Blocks != 7 || p.Margin != selftest.Promises[selftest.ResultsKept].Limit/100 {
		t.Errorf("%d scenes, %d blocks, margin %g", len(p.Scenes), p.Blocks, p.Margin)
	}
	for _, s := range p.Scenes {
		as := s.Platform.Options[bench.AliasOption]
		if s.Unmetered != (as == selftest.Unmetered) {
			t.Errorf("%s: unmetered %v", s.ID, s.Unmetered)
		}
		if s.Case == selftest.WatchCase && (s.Platform.Name != "docker" || s.Timing.Measure != 10*time.Second || len(s.Actors) != 4) {
			t.Errorf("%s: %d actors, %v", s.ID, len(s.Actors), s.Timing)
		}
	}
	if p.Scene(selftest.WatchCase+"/docker[as=tools]") == nil {
		t.Error("nobody is watched by the tools")
	}
	for _, c := range []struct {
		platforms, cases []string
		tools            bool
		scenes           int
	}{
		{[]string{"docker"}, []string{selftest.WatchCase}, true, 2},
		{[]string{"docker"}, []string{selftest.WatchCase}, false, 1},
		{[]string{"native"}, []string{selftest.WatchCase}, true, 1},
		{[]string{"native"}, []string{"cpu"}, false, 2},
	} {
		text, err := selftest.CostSpec(c.platforms, c.cases, 3, time.Second, c.tools)
		if err != nil {
			t.Fatal(err)
		}
		if p := planOf(t, text, c.platforms...); len(p.Scenes) != c.scenes {
			t.Errorf("%v: %d scenes\n%s", c, len(p.Scenes), text)
		}
	}
	if _, err := selftest.CostSpec([]string{"native"}, []string{"cpu"}, 3, 1500*time.Millisecond, false); err == nil {
		t.Error("one and a half seconds were accepted")
	}
}

func TestClockSpec(t *testing.T) {
	text, err := selftest.ClockSpec([]string{"native", "lxc"}, selftest.ClockCases(), 3)
	if err != nil {
		t.Fatal(err)
	}
	if p := planOf(t, text, "native", "lxc"); len(p.Scenes) != 4 || p.Blocks != 3 {
		t.Errorf("%d scenes in %d blocks", len(p.Scenes), p.Blocks)
	}
}

// The experiments of the self-test are specifications that this program reads,
// and slow down what they say.
func TestInjectSpecSlowsDownWhatItSays(t *testing.T) {
	text, err := selftest.InjectSpec([]string{"native", "docker[net=host]"}, selftest.InjectCases(), []float64{0.05, 0.1}, 7)
	if err != nil {
		t.Fatal(err)
	}
	words := planning.Catalog{Dir: t.TempDir()}.Words()
	e, err := spec.Parse("inject.yaml", text, nil, words)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	p, err := plan.Make(e, plan.Inputs{Words: words, Host: plan.Host{CPUs: []int{0, 1}},
		Available: map[string]bench.Availability{"native": {}, "docker": {}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Scenes) != 3*2*3 || p.Blocks != 7 || p.Until != nil {
		t.Errorf("%d scenes in %d blocks, until %v", len(p.Scenes), p.Blocks, p.Until)
	}
	for id, want := range map[string]func(a bench.Actor) bool{
		"cpu/native": func(a bench.Actor) bool { return a.Shape.CPUQuota == 0.1 && a.Injection == nil },
		"cpu/native[as=cpu5]": func(a bench.Actor) bool {
			return a.Shape.CPUQuota == 0.095 && a.Shape.CPUPeriod == 20*time.Millisecond
		},
		"disk/docker[as=disk10,net=host]": func(a bench.Actor) bool { return a.Shape.DiskIOPS == 180 && a.Shape.CPUQuota == 0 },
		"startup/native[as=startup10]":    func(a bench.Actor) bool { return a.Injection.Startup == 0.1 && a.Shape.CPUQuota == 0 },
	} {
		if s := p.Scene(id); s == nil || !want(s.Actors[0]) {
			t.Errorf("%s: %+v", id, s)
		}
	}
}

// The runs that are replayed end as those of a specification that says "until" and no more.
func TestSelftestRuleIsTheDefault(t *testing.T) {
	e, err := spec.Parse("x.yaml", []byte("name: x\nplatforms: native\nuntil: {}\nscenes: [{name: s, startup: true}]\n"), nil,
		planning.Catalog{Dir: t.TempDir()}.Words())
	if err != nil {
		t.Fatal(err)
	}
	want := *e.Until
	want.Looks = stats.Looks(want.Min, want.Max)
	if got := selftest.Rule(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
