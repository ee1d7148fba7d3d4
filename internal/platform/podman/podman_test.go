package podman

import (
	"testing"
	"time"

	"tare/internal/platform/launch/launchtest"
	"tare/internal/platform/platformtest"
)

func TestConformance(t *testing.T) { platformtest.Run(t, New(), platformtest.Options{}) }

func TestConformanceRootless(t *testing.T) {
	platformtest.Run(t, New(), platformtest.Options{Options: map[string]string{"root": "no"}})
}

func TestCrash(t *testing.T) { launchtest.CrashBoxes(t, New, 100*time.Millisecond) }
