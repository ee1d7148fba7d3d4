package qemu

import (
	"testing"

	"tare/internal/platform/platformtest"
)

// slow is how much longer than a container an emulated machine may take.
const slow = 4

func TestConformanceEmulated(t *testing.T) {
	platformtest.Run(t, TCG(), platformtest.Options{Slow: slow})
}

// On a host without virtualization this is skipped with the platform's reason.
func TestConformanceKVM(t *testing.T) {
	platformtest.Run(t, KVM(t.TempDir()), platformtest.Options{})
}
