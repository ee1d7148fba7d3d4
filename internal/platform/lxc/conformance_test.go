package lxc

import (
	"os"
	"testing"

	"tare/internal/platform/platformtest"
)

func TestConformance(t *testing.T) {
	platformtest.Run(t, New(), platformtest.Options{})
}

func TestConformanceUnprivileged(t *testing.T) {
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
