package all

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"tare/internal/bench"
	"tare/internal/image"
	"tare/internal/platform/nest"
	"tare/internal/platform/qemu"
	"tare/internal/platform/trial"
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
	s, tcg := setups(state), once(qemu.TCG())
	var list []bench.Platform
	within := func(outer bench.Platform, s nest.Setup, guests ...bench.OuterGuest) {
		for _, p := range inner(state, guests...) {
			list = append(list, nest.New(p, outer, s))
		}
	}
	within(once(qemu.KVM(state)), s.hosts, bench.AnyGuest, bench.MachineGuest)
	within(tcg, s.hosts, bench.AnyGuest, bench.MachineGuest)
	domains := inner(state, bench.ControlGuest)
	for _, outer := range domains { // of a host that runs Xen
		within(outer, s.hosts, bench.AnyGuest)
	}
	within(tcg, s.xen, bench.ControlGuest)
	for _, between := range domains {
		for _, p := range inner(state, bench.AnyGuest) {
			list = append(list, nest.New(nest.New(p, between, s.hosts), tcg, s.underXen))
		}
	}
	for _, p := range inner(state, bench.AnyGuest) {
		list = append(list, nest.New(nest.New(p, qemu.KVM(state), s.hosts), tcg, s.underKVM))
	}
	return list
}

// inner are the platforms that run in such outer guests.
func inner(state string, guests ...bench.OuterGuest) []bench.Platform {
	return slices.DeleteFunc(drivers(state), func(p bench.Platform) bool {
		n := p.Traits().Nesting
		return n == nil || !slices.Contains(guests, n.Guest)
	})
}

// Inside returns the platforms that an outer guest can run: every one, and those
// nestings whose outer guests boot from what this one was given. None is tried there: the whole is, on the host.
func Inside(state string, given nest.Setup) []bench.Platform {
	list := drivers(state)
	for _, outer := range append(inner(state, bench.ControlGuest), qemu.KVM(state)) {
		for _, p := range inner(state, bench.AnyGuest) {
			list = append(list, nest.New(p, outer, given))
		}
	}
	return list
}

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
	between, _, deep := strings.Cut(outer, "@")
	return !inControl(inner), inControl(inner) || deep && inControl(between)
}

// inControl says whether the platform of that name runs in a control domain.
func inControl(name string) bool {
	return slices.ContainsFunc(inner("", bench.ControlGuest), func(p bench.Platform) bool { return p.Name() == name })
}
