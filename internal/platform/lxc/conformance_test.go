package lxc

import (
	"testing"

	"tare/internal/platform/platformtest"
)

func TestConformance(t *testing.T) {
	platformtest.Run(t, New(), platformtest.Options{})
}

func TestConformanceUnprivileged(t *testing.T) {
	platformtest.Run(t, New(), platformtest.Options{Options: map[string]string{"userns": "yes"}})
}
