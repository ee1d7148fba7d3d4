package nspawn

import (
	"os"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/platform/launch/launchtest"
	"tare/internal/platform/platformtest"
)

func TestConformance(t *testing.T) { platformtest.Run(t, New(), platformtest.Options{}) }

func TestConformanceUserns(t *testing.T) {
	platformtest.Run(t, New(), platformtest.Options{Options: map[string]string{"userns": "yes"}})
}

// What needs no boot to be tried is left to the suite of application containers,
// unless there is time.
func TestConformanceSystem(t *testing.T) {
	o := platformtest.Options{Slow: 2, Options: map[string]string{"init": "systemd"}}
	if os.Getenv("TARE_LONG") == "" {
		o.Only = []string{"killed run", "memory limit", "pids limit", "network", "crash"}
	}
	platformtest.Run(t, New(), o)
}

func TestVariants(t *testing.T) {
	launchtest.Variants(t, New(), []map[string]string{
		{"net": "veth"}, {"net": "host"}, {"net": "none"}, {"userns": "yes"},
	}, nil)
}

func TestCrash(t *testing.T) {
	if _, err := New().Check(t.Context()); err != nil {
		t.Skip(err)
	}
	launchtest.Crash(t, "nspawncrash", func(string) bench.Platform { return New() }, []launchtest.Moment{
		{Step: "start"}, {Step: "start", After: 10 * time.Millisecond}, {Step: "start", After: 40 * time.Millisecond},
		{Step: "start", After: 70 * time.Millisecond}, {Step: "greeted"}, {Step: "close"}, {Step: "close", After: 10 * time.Millisecond},
	})
}
