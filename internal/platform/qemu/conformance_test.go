package qemu

import (
	"errors"
	"testing"

	"tare/internal/bench"
	"tare/internal/platform/platformtest"
)

// slow is how much longer than a container's an emulated machine's boot may take.
const slow = 4

func TestConformanceEmulated(t *testing.T) {
	platformtest.Run(t, TCG(), platformtest.Options{Slow: slow, Console: "/dev/ttyS0"})
}

// A full guest shares all but its boot with the minimal one, and takes several
// times as long: one is started and reached over its network.
func TestConformanceSystemd(t *testing.T) {
	platformtest.Run(t, TCG(), platformtest.Options{Slow: slow, Options: map[string]string{optInit: initSystemd},
		Only: []string{"network"}})
}

func TestConformanceEmulatedMicrovm(t *testing.T) {
	platformtest.Run(t, TCG(), platformtest.Options{Slow: slow, Options: map[string]string{optMachine: machineMicro},
		Only: []string{"network"}})
}

func TestConformanceKVM(t *testing.T) {
	platformtest.Run(t, realKVM(t), platformtest.Options{Console: "/dev/ttyS0"})
}

func TestConformanceMicrovm(t *testing.T) {
	platformtest.Run(t, realKVM(t), platformtest.Options{Options: map[string]string{optMachine: "microvm"}})
}

// realKVM is the platform where it works. The verdict is the host's own, since
// the suite starts this program again.
func realKVM(t *testing.T) *Platform {
	t.Helper()
	p := KVM(bench.StateDir)
	err := p.Probe(t.Context(), lend(t, "qemu-kvm"))
	if errors.Is(err, bench.ErrUnavailable) {
		t.Skipf("no virtualization here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}
