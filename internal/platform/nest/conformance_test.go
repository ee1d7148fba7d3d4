package nest_test

import (
	"context"
	"os"
	"testing"

	"tare/internal/bench"
	"tare/internal/image"
	"tare/internal/platform/bwrap"
	"tare/internal/platform/containerd"
	"tare/internal/platform/crun"
	"tare/internal/platform/docker"
	"tare/internal/platform/gvisor"
	"tare/internal/platform/libvirt"
	"tare/internal/platform/lxc"
	"tare/internal/platform/native"
	"tare/internal/platform/nest"
	"tare/internal/platform/nspawn"
	"tare/internal/platform/platformtest"
	"tare/internal/platform/podman"
	"tare/internal/platform/qemu"
	"tare/internal/platform/runc"
	"tare/internal/platform/uml"
)

// slow is how much longer things may take in an emulated guest than on a host.
const slow = 8

// setup takes the outer guests' image from the host's state directory, as the
// suite takes the golden one.
func setup(t *testing.T) nest.Setup {
	t.Helper()
	hosts := image.NewHosts(bench.StateDir)
	tare := platformtest.Tare(t)
	return nest.Setup{
		Hosts: func(ctx context.Context) (nest.HostImage, error) { return hosts.Open(ctx) },
		Versions: func() (map[string]string, error) {
			m, err := hosts.Manifest()
			if err != nil {
				return nil, err
			}
			golden, err := image.New(bench.StateDir).Manifest()
			m.Programs["linux"] = golden.Kernel
			return m.Programs, err
		},
		Program: func() (string, error) { return tare, nil },
	}
}

// The sets are reduced: every inner driver passes the whole suite on a host, and
// each instance here is the boot of an emulated machine. Native passes most, and
// so stands for the way through the outer guest; of the others an instance is
// started and reached over its network. For limits see [TestLimitsOfVersionTwo].
func TestConformanceNative(t *testing.T) {
	conform(t, native.New(), "killed run", "greeting", "commands", "scratch", "scope", "network", "two at once", "cancelled start", "crash")
}

func TestConformanceBwrap(t *testing.T)  { conform(t, bwrap.New(), "network") }
func TestConformanceNspawn(t *testing.T) { conform(t, nspawn.New(), "network") }
func TestConformanceCrun(t *testing.T)   { conform(t, crun.New(), "network") }
func TestConformanceRunc(t *testing.T)   { conform(t, runc.New(), "network") }
func TestConformanceLXC(t *testing.T)    { conform(t, lxc.New(), "network") }
func TestConformancePodman(t *testing.T) { conform(t, podman.New(), "network") }
func TestConformanceDocker(t *testing.T) { conform(t, docker.New(t.TempDir()), "network") }
func TestConformanceKVM(t *testing.T)    { conform(t, qemu.KVM(t.TempDir()), "network") }

func TestConformanceContainerd(t *testing.T) { conform(t, containerd.New(), "network") }
func TestConformanceUML(t *testing.T)        { conform(t, uml.New(), "network") }

// Its program is the host's: see [bench.Nesting].
func TestConformanceGVisor(t *testing.T) {
	conformWith(t, gvisor.New(), setup(t), "network")
}

// Its daemon asks QEMU for all it can do, for a minute, at each launch.
func TestConformanceLibvirt(t *testing.T) {
	takesLong(t, "its daemon asks QEMU for all it can do at each launch")
	conform(t, libvirt.KVM(t.TempDir()), "network")
}

func conform(t *testing.T, inner bench.Platform, only ...string) {
	t.Helper()
	conformWith(t, inner, setup(t), only...)
}

func conformWith(t *testing.T, inner bench.Platform, s nest.Setup, only ...string) {
	t.Helper()
	platformtest.Run(t, nest.New(inner, qemu.TCG(), s), platformtest.Options{Slow: slow, Only: only})
}

// Version 2 of the control groups is where an unprivileged user's limits hold.
func TestConformancePodmanRootless(t *testing.T) {
	if os.Getenv("TARE_LONG") == "" {
		t.Skip("takes a minute or two: TARE_LONG=1 runs it, as scripts/conformance does")
	}
	platformtest.Run(t, nest.New(podman.New(), qemu.TCG(), setup(t)), platformtest.Options{Slow: slow, Options: map[string]string{"root": "no"},
		Only: []string{"memory limit", "pids limit", "network"}})
}
