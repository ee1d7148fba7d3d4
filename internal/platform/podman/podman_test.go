package podman

import (
	"testing"
	"time"

	"tare/internal/platform/launch/launchtest"
	"tare/internal/platform/platformtest"
)

func TestConformance(t *testing.T) { platformtest.Run(t, New(), platformtest.Options{}) }

func TestCrash(t *testing.T) { launchtest.CrashBoxes(t, New, 100*time.Millisecond) }
