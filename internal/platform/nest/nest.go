// Package nest composes two platforms: an instance of the outer one is a host
// for the inner one.
//
//	host                        outer guest                inner instance
//	nest.engine -- outer agent  agent (virtio-serial)
//	     |------- tare.nest --- tare nested -- the inner platform's own driver
//	     '------- tare.inner -- (splices) ---------------- agent
//
// The outer guest boots from an image of its own, which has the inner
// platform's programs and none of what is measured, with the golden image's
// kernel. The golden image and Tare itself are two further read-only disks.
// tare, started there by the outer agent, runs the driver that a host would
// run, in a lab of its own into which it takes the machine's network device.
//
// Nothing of an inner instance is on the host but bytes in the outer's disks,
// so whatever takes back an outer instance takes back all.
package nest

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"tare/internal/bench"
)

// Setup is what every nesting needs besides its platforms.
type Setup struct {
	// Hosts opens the image the outer guests boot from; closing what it returns
	// lets go of it. It is not built here: without it the error wraps
	// [bench.ErrUnavailable].
	Hosts func(ctx context.Context) (HostImage, error)
	// Versions are those of the programs in it, without a look at its files.
	Versions func() (map[string]string, error)
	// Hypervisor is the file in the image's root file system of the hypervisor that
	// boots before the guest, packed by gzip; none if it is empty. The image
	// then has the kernel of the control domain as well.
	Hypervisor string
	// Program is the path of tare on the host.
	Program func() (string, error)
}

// HostImage is the image of the outer guests.
type HostImage interface {
	bench.Image
	Close() error
}

// Platform is the nesting of two.
type Platform struct {
	inner, outer bench.Platform
	setup        Setup
}

// New returns the nesting of inner in outer, whose instances must be virtual
// machines that know [bench.Hosting].
func New(inner, outer bench.Platform, s Setup) *Platform { return &Platform{inner, outer, s} }

// Inner and Outer are the names of the two.
func (p *Platform) Inner() string { return p.inner.Name() }
func (p *Platform) Outer() string { return p.outer.Name() }

// Name implements [bench.Platform]: "docker@qemu-tcg".
func (p *Platform) Name() string { return bench.Nested(p.inner.Name(), p.outer.Name()) }

// Summary implements [bench.Platform].
func (p *Platform) Summary() string {
	return fmt.Sprintf("%s in a guest of %s: %s", p.inner.Name(), p.outer.Name(), p.inner.Summary())
}

// Options implements [bench.Platform]: both platforms', the outer's with an @
// before their names.
func (p *Platform) Options() []bench.Option {
	list := p.inner.Options()
	for _, o := range p.outer.Options() {
		o.Name = bench.OuterName(o.Name)
		list = append(list, o)
	}
	return list
}

// Check implements [bench.Platform]. The inner platform's version is that of
// its program in the outer guests' image.
func (p *Platform) Check(ctx context.Context) (bench.Availability, error) {
	fail := func(err error) (bench.Availability, error) {
		return bench.Availability{}, fmt.Errorf("%s: %w", p.Name(), err)
	}
	outer, err := p.outer.Check(ctx)
	if err != nil {
		return fail(err)
	}
	programs, err := p.setup.Versions()
	if err != nil {
		return fail(err)
	}
	version := programs[program(p.inner.Name())]
	if version == "" {
		return fail(fmt.Errorf("%s is not in the image of the outer guest: %w", p.inner.Name(), bench.ErrUnavailable))
	}
	a := bench.Availability{Version: version + "@" + outer.Version, Label: label(outer.Label), Programs: map[string]string{}}
	for name, v := range outer.Programs {
		a.Programs["outer "+name] = v
	}
	a.Programs[program(p.inner.Name())] = version
	for _, l := range outer.Lacks {
		with := map[string]string{}
		for name, value := range l.With {
			with[bench.OuterName(name)] = value
		}
		a.Lacks = append(a.Lacks, bench.Lack{With: with, Err: l.Err})
	}
	p.lackInside(&a, programs)
	return a, nil
}

// inside are programs that options of the inner platform need in the images.
var inside = map[string]map[string]string{ // by option=value
	"docker": {"runtime=crun": "crun", "runtime=runsc": "runsc", "runtime=kata": "containerd-shim-kata-v2"},
	"podman": {"runtime=crun": "crun", "runtime=runc": "runc"},
	"lxc":    {"init=systemd": "systemd-sysv"},
	"nspawn": {"init=systemd": "systemd-sysv"},
}

// lackInside notes the variants of the inner platform that cannot run in the outer
// guest: those that can nowhere, those whose programs are not in the images, and
// stores of Docker's that would have to copy the golden image.
func (p *Platform) lackInside(a *bench.Availability, programs map[string]string) {
	if inner, ok := p.inner.(interface{ Excludes() []bench.Lack }); ok {
		a.Lacks = append(a.Lacks, inner.Excludes()...)
	}
	for choice, needs := range inside[p.inner.Name()] {
		if programs[needs] == "" {
			option, value, _ := strings.Cut(choice, "=")
			a.Lack(option, value, fmt.Errorf("%s is not in the images of a nesting: %w%w", needs, bench.ErrUnavailable,
				bench.Hint("use another value, or run it on a host that has it")))
		}
	}
	if p.inner.Name() == "docker" {
		for _, driver := range []string{"vfs", "btrfs"} {
			a.Lack("driver", driver, fmt.Errorf("docker's storage driver %s in an outer guest: %w%w", driver, bench.ErrUnavailable,
				bench.Hint("it would copy the image there first: nested, only overlay2 is known")))
		}
	}
}

// label is worn by every figure of a nesting, with whatever the outer
// platform's own figures say of themselves: "nested, emulated (tcg)".
func label(outer string) string {
	if outer == "" {
		return "nested"
	}
	return "nested, " + outer
}

// program is the one in the outer guests' image whose version is the inner
// platform's.
func program(inner string) string {
	return cmp.Or(map[string]string{
		"xen-pv": "xl", "xen-pvh": "xl", "xen-hvm": "xl",
		"native": "linux", "lxc": "lxc-start", "docker": "dockerd", "nspawn": "systemd-nspawn", "kvm": "qemu-system-x86_64",
	}[inner], inner)
}

// roomFor is the memory an outer guest has beyond the inner instance's: for its
// kernel, the golden image's pages in its cache, and what serves the instance.
func roomFor(inner string) bench.Bytes {
	switch inner {
	case "docker":
		return 512 * bench.MiB
	case "kvm":
		return 768 * bench.MiB
	case "xen-pv", "xen-pvh", "xen-hvm":
		return controlRoom + 192*bench.MiB
	}
	return 256 * bench.MiB
}

// controlRoom is the memory of a control domain. Beside it and the domain there
// is what the hypervisor needs itself: for page tables, its heap, and each domain's own structures.
const controlRoom = 640 * bench.MiB

// diskRoom is what the outer guest's disk under test has beyond the inner
// instance's share: journals, logs, a daemon's store.
const diskRoom = 256 * bench.MiB

// virtualizes says whether the inner platform runs virtual machines.
func virtualizes(inner string) bool {
	return inner == "kvm" || inner == "xen-pvh" || inner == "xen-hvm"
}
