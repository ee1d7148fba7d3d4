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
	inject(&s, []spec.Inject{
		{Platform: bench.PlatformRef{Name: "native"}, Injection: bench.Injection{CPU: 0.5}},
		{Platform: s.Platform, Injection: bench.Injection{CPU: 0.1}},
	})
	if a := s.Actors; a[0].Shape.CPUQuota != 1.8 || a[1].Shape.CPUQuota != 0.9 || a[2].Shape.CPUQuota != 0 || a[2].Injection != nil {
		t.Errorf("quotas %g, %g and, of the neighbour, %g", a[0].Shape.CPUQuota, a[1].Shape.CPUQuota, a[2].Shape.CPUQuota)
	}
}
