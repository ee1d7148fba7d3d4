package nest_test

import (
	"context"
	"maps"
	"testing"

	"tare/internal/bench"
	"tare/internal/image"
	"tare/internal/platform/nest"
	"tare/internal/platform/platformtest"
	"tare/internal/platform/qemu"
	"tare/internal/platform/runc"
	"tare/internal/platform/xen"
)

// insideToo lets the guests that s boots have guests of their own.
func insideToo(t *testing.T, s nest.Setup) nest.Setup {
	t.Helper()
	hosts, own := image.NewHosts(bench.StateDir), s.Versions
	s.Inside = func(ctx context.Context) (nest.HostImage, error) { return hosts.Open(ctx) }
	s.Versions = func() (map[string]string, error) {
		all, err := own()
		if err != nil {
			return nil, err
		}
		m, err := hosts.Manifest()
		all = maps.Clone(all)
		maps.Copy(all, m.Programs)
		return all, err
	}
	return s
}

// A container in a domain of Xen's, the papers' LXC and Docker in VMs of theirs.
func TestConformanceRuncInXenPV(t *testing.T) {
	p := nest.New(nest.New(runc.New(), xen.PV(), nest.Setup{}), qemu.TCG(), insideToo(t, underXen(t)))
	platformtest.Run(t, p, platformtest.Options{Slow: slow, Only: []string{"network"}})
}

// A container in a virtual machine of KVM's, which runs for real, in an emulated machine.
func TestConformanceRuncInKVM(t *testing.T) {
	takesLong(t, "differs in the guest between alone from what other tests run")
	p := nest.New(nest.New(runc.New(), qemu.KVM(t.TempDir()), nest.Setup{}), qemu.TCG(), insideToo(t, setup(t)))
	platformtest.Run(t, p, platformtest.Options{Slow: slow, Only: []string{"network"}})
}
