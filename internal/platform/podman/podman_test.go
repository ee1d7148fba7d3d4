package podman

import (
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/platform/launch/launchtest"
	"tare/internal/platform/platformtest"
)

func TestConformance(t *testing.T) { platformtest.Run(t, New(), platformtest.Options{}) }

func TestConformanceRootless(t *testing.T) {
	platformtest.Run(t, New(), platformtest.Options{Options: map[string]string{"root": "no"}})
}

func TestCrash(t *testing.T) {
	if _, err := New().Check(t.Context()); err != nil {
		t.Skip(err)
	}
	launchtest.Crash(t, "podmancrash", func(string) bench.Platform { return New() }, []launchtest.Moment{
		{Step: "start"}, {Step: "start", After: 100 * time.Millisecond}, {Step: "start", After: 200 * time.Millisecond},
		{Step: "greeted"}, {Step: "close"}, {Step: "close", After: 10 * time.Millisecond},
	})
}
