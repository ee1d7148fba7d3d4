package gvisor

import (
	"strings"
	"testing"
	"time"

	"tare/internal/platform/launch/launchtest"
	"tare/internal/platform/platformtest"
)

func TestConformance(t *testing.T) {
	platformtest.Run(t, New(), platformtest.Options{Lacks: map[string]string{
		"memory limit": "the sandbox is killed as a whole",
	}})
}

func TestCrash(t *testing.T) { launchtest.CrashBoxes(t, New, 10*time.Millisecond) }

// A build is refused for its release's date alone; one without a date is doubted.
func TestVersionsThatWillDo(t *testing.T) {
	for version, want := range map[string]struct{ refused, doubted bool }{
		"20260224.0":            {false, false},
		"20240729.0":            {true, false},
		"VERSION_MISSING":       {false, true},
		"0.0~20240729.0-4+b110": {true, false}, // Debian's
	} {
		err, doubt := refuse(version), doubts(version)
		if (err != nil) != want.refused || (len(doubt) > 0) != want.doubted {
			t.Errorf("%s: %v, %v", version, err, doubt)
		}
		for _, d := range doubt {
			if !strings.Contains(d.Text, version) {
				t.Errorf("%s: %q", version, d.Text)
			}
		}
	}
}
