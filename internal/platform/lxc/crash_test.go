package lxc

import (
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/platform/launch/launchtest"
)

func TestCrash(t *testing.T) {
	if _, err := New().Check(t.Context()); err != nil {
		t.Skip(err)
	}
	launchtest.Crash(t, "lxccrash", func(string) bench.Platform { return New() }, []launchtest.Moment{
		{Step: "start", After: 0}, {Step: "start", After: 10 * time.Millisecond}, {Step: "start", After: 25 * time.Millisecond},
		{Step: "greeted"}, {Step: "close"}, {Step: "close", After: 10 * time.Millisecond}, {Step: "close", After: 30 * time.Millisecond},
	})
}
