// Package all lists the drivers there are.
package all

import (
	"fmt"
	"slices"

	"tare/internal/bench"
	"tare/internal/image"
	"tare/internal/platform/bwrap"
	"tare/internal/platform/cloudhypervisor"
	"tare/internal/platform/containerd"
	"tare/internal/platform/crun"
	"tare/internal/platform/docker"
	"tare/internal/platform/firecracker"
	"tare/internal/platform/gvisor"
	"tare/internal/platform/incus"
	"tare/internal/platform/libkrun"
	"tare/internal/platform/libvirt"
	"tare/internal/platform/lxc"
	"tare/internal/platform/native"
	"tare/internal/platform/nspawn"
	"tare/internal/platform/pod"
	"tare/internal/platform/podman"
	"tare/internal/platform/qemu"
	"tare/internal/platform/runc"
	"tare/internal/platform/trial"
	"tare/internal/platform/uml"
	"tare/internal/platform/xen"
)

// Platforms returns every driver in the order people expect: the baseline
// first, then the lightest isolation to the heaviest. What must outlive a run
// (a daemon's data, verdicts about this host) is kept in the state directory.
// Those that some hosts can run only as far as their programs know are tried first; those
// that need KVM have a trial of their own: see [vm.Trial].
func Platforms(state string) []bench.Platform {
	list := drivers(state)
	for i, p := range list {
		if decides := p.Traits().Trial; decides != nil {
			list[i] = trial.Of(p, state, decides.Option)
		}
	}
	return list
}

// drivers are all platforms as their drivers have them.
func drivers(state string) []bench.Platform {
	return []bench.Platform{
		native.New(),
		bwrap.New(),
		nspawn.Platform{Boots: boots},
		crun.New(),
		runc.New(),
		lxc.Platform{Boots: boots},
		incus.New(),
		containerd.New(),
		podman.New(),
		docker.New(state),
		pod.New(),
		gvisor.New(),
		uml.New(),
		libkrun.New(),
		firecracker.New(state),
		cloudhypervisor.New(state),
		qemu.KVM(state),
		qemu.TCG(),
		libvirt.KVM(state),
		libvirt.TCG(state),
		xen.PV(),
		xen.PVH(),
		xen.HVM(),
	}
}

// boots returns why the golden image cannot boot as a system container.
func boots() error {
	const pkg = "systemd-sysv"
	if slices.Contains(image.Golden().Packages, pkg) {
		return nil
	}
	return fmt.Errorf("the image has no init system: %w%w", bench.ErrUnavailable,
		bench.Hint("build Tare with "+pkg+" among the packages of internal/image/recipe.go, then tare image build"))
}
