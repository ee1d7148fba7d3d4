package nest_test

import (
	"context"
	"os"
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

// Reduced sets, as those of the others: each instance is the boot of a hypervisor,
// a control domain and a domain, all emulated.
func TestConformanceXenPV(t *testing.T) {
	takesLong(t, "containers in such a domain, and what else it does, are always tested")
	conformUnderXen(t, xen.PV(), "network")
}

func TestConformanceXenPVH(t *testing.T) {
	takesLong(t, onlyType)
	conformUnderXen(t, xen.PVH(), "network")
}

func TestConformanceXenHVM(t *testing.T) {
	takesLong(t, onlyType)
	conformUnderXen(t, xen.HVM(), "network")
}

// onlyType: it shares all but a line of its domain's description with a test that
// is always run.
const onlyType = "differs from xen-pv in the domain's type alone"

// takesLong skips what takes a minute or more and can be done without.
func takesLong(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("TARE_LONG") == "" {
		t.Skipf("takes a minute and %s: TARE_LONG=1 runs it, as scripts/conformance does", why)
	}
}

func conformUnderXen(t *testing.T, inner bench.Platform, only ...string) {
	t.Helper()
	platformtest.Run(t, nest.New(inner, qemu.TCG(), underXen(t)), platformtest.Options{Slow: slow, Only: only})
}
