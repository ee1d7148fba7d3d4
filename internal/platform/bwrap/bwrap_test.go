package bwrap

import (
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/platform/launch/launchtest"
	"tare/internal/platform/platformtest"
)

func TestConformance(t *testing.T) { platformtest.Run(t, New(), platformtest.Options{}) }

func TestVariants(t *testing.T) {
	launchtest.Variants(t, New(), []map[string]string{
		{"net": "veth"}, {"net": "host"}, {"net": "none"}, {"userns": "yes"},
	}, nil)
}

func TestCrash(t *testing.T) {
	if _, err := New().Check(t.Context()); err != nil {
		t.Skip(err)
	}
	launchtest.Crash(t, "bwrapcrash", func(string) bench.Platform { return New() }, []launchtest.Moment{
		{Step: "start"}, {Step: "start", After: 3 * time.Millisecond}, {Step: "start", After: 8 * time.Millisecond},
		{Step: "start", After: 15 * time.Millisecond}, {Step: "greeted"}, {Step: "close"}, {Step: "close", After: 5 * time.Millisecond},
	})
}
