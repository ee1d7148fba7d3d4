package incus

import (
	"os"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/platform/launch/launchtest"
	"tare/internal/platform/platformtest"
)

// Long runs take all of the suite where others leave out what a variant shares with its platform.
func only(cases ...string) []string {
	if os.Getenv("TARE_LONG") != "" {
		return nil
	}
	return cases
}

func TestConformance(t *testing.T) { platformtest.Run(t, New(), platformtest.Options{Slow: 2}) }

func TestConformanceSystem(t *testing.T) {
	platformtest.Run(t, New(), platformtest.Options{Slow: 2, Options: map[string]string{"init": "systemd"}, Only: only("network")})
}

// The stand-in for the agent does not call, so nothing greets here; TestConformance
// kills a run whose instance has.
func TestCrash(t *testing.T) {
	if _, err := New().Check(t.Context()); err != nil {
		t.Skip(err)
	}
	launchtest.Crash(t, "incuscrash", func(string) bench.Platform { return New() }, []launchtest.Moment{
		{Step: "open", After: 300 * time.Millisecond}, {Step: "start", After: 100 * time.Millisecond},
	})
}
