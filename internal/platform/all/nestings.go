package all

import (
	"context"
	"maps"
	"os"
	"strings"
	"sync"
	"time"

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
	"tare/internal/platform/podman"
	"tare/internal/platform/qemu"
	"tare/internal/platform/runc"
	"tare/internal/platform/trial"
	"tare/internal/platform/uml"
	"tare/internal/platform/xen"
)

// Nestings returns every platform that runs inside another, by the outer
// platform and then in the order of [Platforms]. Each is tried by a start of its own.
func Nestings(state string) []bench.Platform {
	list := nestings(state)
	for i, p := range list {
		list[i] = trial.Of(p, state, "").Within(nestedLimit)
	}
	return list
}

// nestedLimit is how long the trial of a nesting may take: two launches, one of
// them in a guest that may be emulated.
const nestedLimit = 3 * time.Minute

func nestings(state string) []bench.Platform {
	s, tcg, sandbox := setups(state), once(qemu.TCG()), gvisor.New()
	var list []bench.Platform
	for _, outer := range []bench.Platform{once(qemu.KVM(state)), tcg} {
		for _, inner := range append(containers(state), sandbox, uml.New(), qemu.KVM(state), libvirt.KVM(state)) {
			setup := s.hosts
			if inner.Name() == sandbox.Name() {
				setup.Carry = []string{"runsc"} // the distribution's is too old
			}
			list = append(list, nest.New(inner, outer, setup))
		}
	}
	for _, outer := range domains() { // of a host that runs Xen
		for _, inner := range containers(state) {
			list = append(list, nest.New(inner, outer, s.hosts))
		}
	}
	for _, inner := range domains() {
		list = append(list, nest.New(inner, tcg, s.xen))
	}
	for _, between := range domains() {
		for _, inner := range containers(state) {
			list = append(list, nest.New(nest.New(inner, between, s.hosts), tcg, s.underXen))
		}
	}
	for _, inner := range containers(state) {
		list = append(list, nest.New(nest.New(inner, qemu.KVM(state), s.hosts), tcg, s.underKVM))
	}
	return list
}

// Inside returns the platforms that an outer guest can run: every one, and those
// nestings whose outer guests boot from what this one was given. None is tried there: the whole is, on the host.
func Inside(state string, given nest.Setup) []bench.Platform {
	list := drivers(state)
	for _, outer := range append(domains(), qemu.KVM(state)) {
		for _, inner := range containers(state) {
			list = append(list, nest.New(inner, outer, given))
		}
	}
	return list
}

// containers are the platforms that need nothing of a guest's CPU or of its host.
func containers(state string) []bench.Platform {
	return []bench.Platform{
		native.New(), bwrap.New(), nspawn.New(), crun.New(), runc.New(), lxc.New(), containerd.New(), podman.New(), docker.New(state),
	}
}

func domains() []bench.Platform { return []bench.Platform{xen.PV(), xen.PVH(), xen.HVM()} }

// setup are those of the nestings, by what their outer guests boot from.
type setup struct {
	hosts, xen         nest.Setup // a guest that runs platforms, a control domain
	underKVM, underXen nest.Setup // the same, whose guests run platforms
}

func setups(state string) setup {
	golden, hosts, xenHosts := image.New(state), image.NewHosts(state), image.NewXenHosts(state)
	open := func(s *image.Store) func(context.Context) (nest.HostImage, error) {
		return func(ctx context.Context) (nest.HostImage, error) { return s.Open(ctx) }
	}
	versions := func(stores ...*image.Store) func() (map[string]string, error) {
		return sync.OnceValues(func() (map[string]string, error) { return versionsOf(golden, stores...) })
	}
	var s setup
	s.hosts = nest.Setup{Hosts: open(hosts), Versions: versions(hosts), Program: os.Executable}
	s.xen = nest.Setup{Hosts: open(xenHosts), Versions: versions(xenHosts), Program: os.Executable, Hypervisor: image.Hypervisor}
	s.underKVM = s.hosts
	s.underKVM.Inside = open(hosts)
	s.underXen = s.xen
	s.underXen.Inside, s.underXen.Versions = open(hosts), versions(hosts, xenHosts)
	return s
}

// versionsOf are those of the programs in the outer guests' images and of the
// kernel under them, which is the golden image's, as is the init system.
func versionsOf(golden *image.Store, hosts ...*image.Store) (map[string]string, error) {
	all := map[string]string{}
	for _, h := range hosts {
		m, err := h.Manifest()
		if err != nil {
			return nil, err
		}
		maps.Copy(all, m.Programs)
	}
	g, err := golden.Manifest()
	if err != nil {
		return nil, err
	}
	all["linux"] = g.Kernel
	if boots() == nil {
		all["systemd-sysv"] = "in the image"
	}
	return all, nil
}

// Images says which images of outer guests the nesting of that name needs.
func Images(nesting string) (hosts, xenHosts bool) {
	inner, outer, _ := strings.Cut(nesting, "@")
	isXen := func(name string) bool { return strings.HasPrefix(name, "xen-") }
	between, _, deep := strings.Cut(outer, "@")
	return !isXen(inner), isXen(inner) || deep && isXen(between)
}
