package gvisor

import (
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
