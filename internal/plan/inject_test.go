package plan

import (
	"testing"

	"tare/internal/bench"
	"tare/internal/spec"
)

func TestInjectionLowersTheQuotaOfItsPlatformOnly(t *testing.T) {
	s := bench.Scene{Platform: bench.PlatformRef{Name: "native", Options: map[string]string{"as": "slow"}}, Actors: []bench.Actor{
		{Role: bench.Subject, Shape: bench.Shape{CPUs: 2}},
		{Role: bench.Subject, Shape: bench.Shape{CPUs: 2, CPUQuota: 1}},
		{Role: bench.Neighbour, Shape: bench.Shape{CPUs: 2}},
	}}
	e := &spec.Experiment{Inject: []spec.Inject{
		{Platform: bench.PlatformRef{Name: "native"}, Injection: bench.Injection{CPU: 0.5}},
		{Platform: s.Platform, Injection: bench.Injection{CPU: 0.1}},
	}}
	if err := inject(&s, e); err != nil {
		t.Fatal(err)
	}
	if a := s.Actors; a[0].Shape.CPUQuota != 1.8 || a[1].Shape.CPUQuota != 0.9 || a[2].Shape.CPUQuota != 0 || a[2].Injection != nil {
		t.Errorf("quotas %g, %g and, of the neighbour, %g", a[0].Shape.CPUQuota, a[1].Shape.CPUQuota, a[2].Shape.CPUQuota)
	}
}

func TestInjectionNeedsALimitThatItLowers(t *testing.T) {
	s := bench.Scene{Case: "disk", Platform: bench.PlatformRef{Name: "native"}, Actors: []bench.Actor{{Name: "subject", Role: bench.Subject}}}
	e := &spec.Experiment{Places: spec.Places{"inject": {}}, Inject: []spec.Inject{{Platform: s.Platform, Injection: bench.Injection{Disk: 0.1}}}}
	if err := inject(&s, e); err == nil || bench.HintOf(err) == "" {
		t.Errorf("without a limit: %v", err)
	}
	s.Actors[0].Shape.DiskIOPS = 500
	if err := inject(&s, e); err != nil || s.Actors[0].Shape.DiskIOPS != 450 {
		t.Errorf("%d operations a second, %v", s.Actors[0].Shape.DiskIOPS, err)
	}
}

func TestInjectionIsSaid(t *testing.T) {
	got := injected([]spec.Inject{{Platform: bench.PlatformRef{Name: "crun"}, Injection: bench.Injection{CPU: 0.05, Startup: 0.5}}})
	if len(got) != 1 || got[0] != "crun is slowed down on purpose (inject): CPU time by 5 %, time to start by 50 %" {
		t.Errorf("%q", got)
	}
}
