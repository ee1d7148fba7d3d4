package nest_test

import (
	"context"
	"testing"

	"tare/internal/bench"
	"tare/internal/image"
	"tare/internal/platform/nest"
	"tare/internal/platform/platformtest"
	"tare/internal/platform/qemu"
	"tare/internal/platform/xen"
)

// underXen is setup for outer guests that are control domains.
func underXen(t *testing.T) nest.Setup {
	t.Helper()
	s := setup(t)
	hosts := image.NewXenHosts(bench.StateDir)
	s.Hypervisor = image.Hypervisor
	s.Hosts = func(ctx context.Context) (nest.HostImage, error) { return hosts.Open(ctx) }
	s.Versions = func() (map[string]string, error) {
		m, err := hosts.Manifest()
		return m.Programs, err
	}
	return s
}

// Reduced sets: each instance is the boot of a hypervisor, a control domain and a
// domain, all emulated.
func TestXenPVInEmulated(t *testing.T) {
	platformtest.Run(t, nest.New(xen.PV(), qemu.TCG(), underXen(t)), platformtest.Options{Slow: slow,
		Only: []string{"commands", "network"}})
}

func TestXenPVHInEmulated(t *testing.T) {
	platformtest.Run(t, nest.New(xen.PVH(), qemu.TCG(), underXen(t)), platformtest.Options{Slow: slow, Only: []string{"greeting"}})
}
