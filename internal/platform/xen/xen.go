// Package xen drives Xen's domains by xl from the control domain.
//
// A domain boots the golden image's kernel with the agent as its first process.
// Its root is a snapshot of the golden image, made by the device mapper of the
// control domain, which writes what the guest changes to a file beside the scratch disk's;
// both disks are block devices there, served by the kernel's own backend. Its
// network device is moved into the test network. The agent is spoken to over the domain's
// console, which the guest's kernel leaves alone once the agent is up.
//
// # Limits
//
// The hypervisor enforces CPUs (hard affinity), quota (the scheduler's cap),
// weight and memory. What serves a domain in the control domain (backends,
// xenstored, xenconsoled, xl, and QEMU of an hvm domain) is not held to them: its cost is
// the control domain's, metered as a whole by the hypervisor, and the
// processes among it besides.
package xen

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"tare/internal/bench"
	"tare/internal/platform/launch"
	"tare/internal/platform/vm"
)

// The kinds of domains, as xl calls them.
const (
	typePV  = "pv"
	typePVH = "pvh"
	typeHVM = "hvm"
)

// Platform is domains of one kind.
type Platform struct{ kind string }

// PV is paravirtual domains: the guest's kernel calls the hypervisor for what
// it may not do itself.
func PV() Platform { return Platform{typePV} }

// PVH is domains that use the CPU's virtualization and have no emulated devices.
func PVH() Platform { return Platform{typePVH} }

// HVM is whole machines with devices emulated by QEMU in the control domain,
// and with Xen's own drivers for disks and, where no other card is asked for, the network.
func HVM() Platform { return Platform{typeHVM} }

// Name implements [bench.Platform].
func (p Platform) Name() string { return "xen-" + p.kind }

// Summary implements [bench.Platform].
func (p Platform) Summary() string {
	return map[string]string{
		typePV:  "Xen, paravirtual domain: no use of the CPU's virtualization",
		typePVH: "Xen, domain by the CPU's virtualization, without emulated devices",
		typeHVM: "Xen, domain by the CPU's virtualization, as a whole machine with QEMU in Dom0",
	}[p.kind]
}

// controlMemory is that of a control domain.
const controlMemory = 640 * bench.MiB

// Traits are what the control domain has to have.
func (p Platform) Traits() bench.Traits {
	return bench.Traits{
		Programs: append(vm.Programs(),
			bench.Program{Name: "losetup", Package: "mount"},
			bench.Program{Name: "xl", Package: "xen-system-" + runtime.GOARCH, Optional: true, Mute: true},
			bench.Program{Name: "xenstore-read", Package: "xen-utils-common", Optional: true, Mute: true},
			bench.Program{Name: "dmsetup", Package: "dmsetup", Optional: true, Mute: true},
			bench.Program{Name: "blockdev", Package: "util-linux"},
		),
		Trial: &bench.TrialStart{},
		Nesting: &bench.Nesting{
			Guest: bench.ControlGuest, Program: "xl", Virtualization: p.kind != typePV,
			// Beside the control domain and the domain there is what the hypervisor needs
			// itself: for page tables, its heap, and each domain's own structures.
			Memory: controlMemory + 192*bench.MiB, Control: controlMemory,
			Modules: []string{ // the way to the hypervisor, the backends of disks and network, and what disks are made of
				"xenfs", "xen_privcmd", "xen_evtchn", "xen_gntdev", "xen_gntalloc", "xen_blkback", "xen_netback", "loop", "dm_snapshot", "tun",
			},
			Prepare: serve,
			// The device mapper wants the disk for itself, and nothing else reads it.
			Seat: func(ctx context.Context, run bench.Runner, _ bench.Env, golden string) error {
				return run(ctx, "umount", golden)
			},
		},
	}
}

// The names of the options.
const (
	optCache = "cache"
	optPin   = "pin"
	optNIC   = "nic"
)

// nicXen is Xen's own network card, which the control domain's kernel serves.
const nicXen = "xen"

// Options implements [bench.Platform].
func (p Platform) Options() []bench.Option {
	options := []bench.Option{
		{Name: optCache, Values: []string{"none", "writeback"}, Default: "none",
			Doc: "the scratch disk and Dom0's page cache: none goes around it, writeback leaves data there"},
		{Name: optPin, Values: []string{"off", "on"}, Default: "off",
			Doc: "bind each virtual CPU to one CPU of the instance, in order"},
	}
	if p.kind == typeHVM {
		options = append(options, bench.Option{Name: optNIC, Values: []string{nicXen, vm.NICEmulated}, Default: nicXen,
			Doc: "the guest's network card: Xen's own, or one that QEMU emulates in Dom0"})
	}
	return options
}

// needs are the programs beside xl, and the packages they come in.
var needs = []struct{ program, pkg string }{
	{"xl", "xen-system-amd64"}, {"xenstore-read", "xen-utils-common"}, {"dmsetup", "dmsetup"},
	{"losetup", "mount"}, {"mkfs.ext4", "e2fsprogs"}, {"xz", "xz-utils"},
}

// install is how a host comes to run Xen.
const install = bench.Hint("boot it under Xen: apt-get install xen-system-amd64")

// Check implements [bench.Platform].
func (p Platform) Check(context.Context) (bench.Availability, error) {
	version, err := check("/")
	if err != nil {
		return bench.Availability{}, fmt.Errorf("%s: %w", p.Name(), err)
	}
	return bench.Availability{Version: version, Programs: map[string]string{"xen": version}, Ungrouped: true}, nil
}

// check finds out on the host whose files lie at root whether it is Xen's
// control domain, and returns the hypervisor's version.
func check(root string) (version string, err error) {
	fail := func(why string, hint bench.Hint) (string, error) {
		return "", fmt.Errorf("%s: %w%w", why, bench.ErrUnavailable, hint)
	}
	if os.Geteuid() != 0 {
		return fail("domains need root", "run as root")
	}
	file := func(name string) string {
		text, _ := os.ReadFile(filepath.Join(root, name)) // none is ""
		return strings.TrimSpace(string(text))
	}
	if file("sys/hypervisor/type") != "xen" {
		return fail("this host runs no Xen", install)
	}
	switch capabilities := file("proc/xen/capabilities"); {
	case capabilities == "":
		return fail("no /proc/xen", "mount -t xenfs xenfs /proc/xen, or start the service xen")
	case !strings.Contains(capabilities, "control_d"):
		return fail("this is a domain of Xen's, not its control domain", "run it in Dom0")
	}
	for _, need := range needs {
		if _, err := launch.Program(need.program); err != nil {
			return fail(need.program+" is not installed", bench.Hint("apt-get install "+need.pkg))
		}
	}
	version = file("sys/hypervisor/version/major") + "." + file("sys/hypervisor/version/minor") + file("sys/hypervisor/version/extra")
	if version == "." {
		return fail("Xen tells no version in /sys/hypervisor", "is Dom0's kernel built with CONFIG_XEN_SYS_HYPERVISOR?")
	}
	return version, nil
}
