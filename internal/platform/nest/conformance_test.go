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

func TestNativeInEmulated(t *testing.T) { conform(t, native.New()) }

func TestRuncInEmulated(t *testing.T) { conform(t, runc.New()) }

func TestCrunInEmulated(t *testing.T) { conform(t, crun.New()) }

func TestLXCInEmulated(t *testing.T) { conform(t, lxc.New()) }

func TestDockerInEmulated(t *testing.T) { conform(t, docker.New(t.TempDir())) }

func TestKVMInEmulated(t *testing.T) { conform(t, qemu.KVM(t.TempDir())) }

func conform(t *testing.T, inner bench.Platform) {
	platformtest.Run(t, nest.New(inner, qemu.TCG(), setup(t)), platformtest.Options{Slow: slow})
}
