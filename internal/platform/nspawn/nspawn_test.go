package nspawn

import (
	"os"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/platform/launch"
	"tare/internal/platform/launch/launchtest"
	"tare/internal/platform/platformtest"
)

func TestConformance(t *testing.T) { platformtest.Run(t, New(), platformtest.Options{}) }

func TestConformanceUserns(t *testing.T) {
	platformtest.Run(t, New(), platformtest.Options{Options: map[string]string{"userns": "yes"}})
}

// A system container needs an image with systemd.
func TestConformanceSystem(t *testing.T) {
	root, err := platformtest.Image(t).Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(root + launch.Init); err != nil {
		t.Skipf("the image has no init system: %v", err)
	}
	platformtest.Run(t, New(), platformtest.Options{Slow: 2, Options: map[string]string{"init": "systemd"}})
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
