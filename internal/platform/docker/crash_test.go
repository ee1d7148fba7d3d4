package docker

import (
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/platform/launch/launchtest"
)

func TestCrash(t *testing.T) {
	if _, err := New(t.TempDir()).Check(t.Context()); err != nil {
		t.Skip(err)
	}
	launchtest.Crash(t, "dockercrash", func(state string) bench.Platform { return New(state) }, []launchtest.Moment{
		{Step: "open", After: 100 * time.Millisecond}, {Step: "open", After: 600 * time.Millisecond},
		{Step: "start"}, {Step: "start", After: 60 * time.Millisecond}, {Step: "start", After: 150 * time.Millisecond},
		{Step: "greeted"}, {Step: "close", After: 50 * time.Millisecond}, {Step: "closed", After: 50 * time.Millisecond},
	})
}
