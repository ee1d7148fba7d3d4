package main

import (
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/plan"
	"tare/internal/selftest"
	"tare/internal/spec"
)

func planOf(t *testing.T, text []byte, platforms ...string) *bench.Plan {
	t.Helper()
	words := (&app{state: t.TempDir()}).vocabulary()
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
	if len(p.Scenes) != 4*4+2 || p.Blocks != 7 || p.Margin != selftest.CostMargin {
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
