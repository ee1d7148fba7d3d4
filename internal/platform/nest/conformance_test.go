package nest_test

import (
	"context"
	"testing"

	"tare/internal/bench"
	"tare/internal/image"
	"tare/internal/platform/crun"
	"tare/internal/platform/docker"
	"tare/internal/platform/lxc"
	"tare/internal/platform/native"
	"tare/internal/platform/nest"
	"tare/internal/platform/platformtest"
	"tare/internal/platform/qemu"
	"tare/internal/platform/runc"
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
			m.Programs["linux"] = "any"
			return m.Programs, nil
		},
		Program: func() (string, error) { return tare, nil },
	}
}

// The sets are reduced: every inner driver passes the whole suite on a host, and
// each instance here is the boot of an emulated machine. Native passes most, and
// so stands for the way through the outer guest; for limits see [TestLimitsOfVersionTwo].
var (
	way    = []string{"killed run", "greeting", "commands", "scratch", "scope", "network", "two at once", "cancelled start", "crash"}
	basics = []string{"greeting", "network"}
)

func TestNativeInEmulated(t *testing.T) { conform(t, native.New(), way) }

func TestRuncInEmulated(t *testing.T) { conform(t, runc.New(), basics) }

func TestCrunInEmulated(t *testing.T) { conform(t, crun.New(), []string{"greeting"}) }

func TestLXCInEmulated(t *testing.T) { conform(t, lxc.New(), basics) }

func TestDockerInEmulated(t *testing.T) { conform(t, docker.New(t.TempDir()), basics) }

func TestKVMInEmulated(t *testing.T) {
	conform(t, qemu.KVM(t.TempDir()), basics)
}

func conform(t *testing.T, inner bench.Platform, only []string) {
	platformtest.Run(t, nest.New(inner, qemu.TCG(), setup(t)), platformtest.Options{Slow: slow, Only: only})
}
