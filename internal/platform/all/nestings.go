package all

import (
	"context"
	"os"

	"tare/internal/bench"
	"tare/internal/image"
	"tare/internal/platform/bwrap"
	"tare/internal/platform/crun"
	"tare/internal/platform/docker"
	"tare/internal/platform/lxc"
	"tare/internal/platform/native"
	"tare/internal/platform/nest"
	"tare/internal/platform/nspawn"
	"tare/internal/platform/podman"
	"tare/internal/platform/qemu"
	"tare/internal/platform/runc"
	"tare/internal/platform/xen"
)

// Nestings returns every platform that runs inside another, by the outer
// platform and then in the order of [Platforms].
func Nestings(state string) []bench.Platform {
	hosts := image.NewHosts(state)
	setup := nest.Setup{
		Hosts:    func(ctx context.Context) (nest.HostImage, error) { return hosts.Open(ctx) },
		Versions: func() (map[string]string, error) { return versions(hosts, image.New(state)) },
		Program:  os.Executable,
	}
	var list []bench.Platform
	for _, outer := range []bench.Platform{qemu.KVM(state), qemu.TCG()} {
		for _, inner := range []bench.Platform{
			native.New(), bwrap.New(), nspawn.New(), crun.New(), runc.New(), lxc.New(), podman.New(), docker.New(state), qemu.KVM(state),
		} {
			list = append(list, nest.New(inner, outer, setup))
		}
	}
	xenHosts := image.NewXenHosts(state)
	underXen := nest.Setup{
		Hosts:      func(ctx context.Context) (nest.HostImage, error) { return xenHosts.Open(ctx) },
		Versions:   func() (map[string]string, error) { return versions(xenHosts, image.New(state)) },
		Hypervisor: image.Hypervisor,
		Program:    os.Executable,
	}
	for _, inner := range []bench.Platform{xen.PV(), xen.PVH(), xen.HVM()} {
		list = append(list, nest.New(inner, qemu.TCG(), underXen))
	}
	return list
}

// versions are those of the programs in the outer guests' image and of the
// kernel under them, which is the golden image's, as is the init system.
func versions(hosts, golden *image.Store) (map[string]string, error) {
	m, err := hosts.Manifest()
	if err != nil {
		return nil, err
	}
	g, err := golden.Manifest()
	if err != nil {
		return nil, err
	}
	m.Programs["linux"] = g.Kernel
	if boots() == nil {
		m.Programs["systemd-sysv"] = "in the image"
	}
	return m.Programs, nil
}
