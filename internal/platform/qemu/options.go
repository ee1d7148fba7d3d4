package qemu

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/bench"
	"tare/internal/platform/vm"
)

// The names of the options.
const (
	optMachine = "machine"
	optBus     = "bus"
	optDisk    = "disk"
	optCache   = "cache"
	optAIO     = "aio"
	optNet     = "net"
	optNIC     = "nic"
	optVhost   = "vhost"
	optPages   = "pages"
	optKSM     = "ksm"
	optPin     = "pin"
	optRoot    = "root"
	optInit    = "init"
	optBalloon = "balloon"
)

// options are the variant switches, the same on both platforms. Disks are the scratch disk, the one under test: the root
// is always a virtio disk, so that variants of a disk boot alike.
func options() []bench.Option {
	option := func(name, doc string, values ...string) bench.Option {
		return bench.Option{Name: name, Values: values, Default: values[0], Doc: doc}
	}
	return []bench.Option{
		option(optMachine, "the machine: q35 is a PC with PCI Express, pc the older one; microvm leaves out their legacy", "q35", "pc", machineMicro),
		option(optBus, "how the scratch disk is attached", busVirtio, vm.BusSCSI, vm.BusIDE, vm.BusNVMe),
		option(optDisk, "the format of the scratch disk's file", vm.Raw, vm.Qcow2),
		option(optCache, "the scratch disk and the host's page cache: none and directsync go around it; writethrough and directsync make every "+
			"write durable; unsafe ignores the guest's flushes", "none", "writethrough", "writeback", "directsync", "unsafe"),
		option(optAIO, "how QEMU does the scratch disk's I/O on the host; auto is native around the page cache and threads through it",
			"auto", aioNative, "threads", aioURing),
		option(optNet, "tap is on the bridge; user is translated by QEMU itself and cannot be connected to", netTap, netUser),
		option(optNIC, "the guest's network card: virtio's, or one that QEMU emulates", nicVirtio, vm.NICEmulated),
		option(optVhost, "move packets in the host's kernel; auto does where the host has /dev/vhost-net", "auto", "on", "off"),
		option(optPages, "the guest's memory: pages of the usual size, or huge ones set aside on the host", "normal", pagesHuge),
		option(optKSM, "let the host merge equal pages of guests; auto is QEMU's own default, on needs a host that does", "auto", "on", "off"),
		option(optPin, "bind each virtual CPU to one CPU of the instance, in order", "off", "on"),
		option(optRoot, "where writes to the root go: snapshot is a file that QEMU makes and hides, qcow2 a file over the image that a migration can take along, "+
			"raw a copy of the whole image", rootSnapshot, vm.Qcow2, vm.Raw),
		option(optInit, "what boots: agent is a minimal guest, in which nothing but the agent runs; systemd a full one, whose last service is the agent",
			"agent", initSystemd),
		option(optBalloon, "a balloon, by which the guest gives memory back: pages it has freed, and in a pool of memory that is too small what exceeds its share", "no", "yes"),
		bench.GuestChoice(),
		{Name: bench.ProgramOption, Path: true, Doc: "the path of another build of QEMU to run; what the platform's own build can do is supposed of it"},
		{Name: bench.KernelOption, Path: true, Doc: "the path of another kernel for the guest to boot, as a bzImage; its modules are those beside it (../lib/modules/RELEASE), " +
			"else the image's if of the same release, else it has all drivers built in"},
	}
}

// Values of options that others refer to.
const (
	busVirtio = "virtio"
	aioNative = "native"
	aioURing  = "io_uring"
	nicVirtio = "virtio"
	netTap    = "tap"
	netUser   = "user"
	pagesHuge = "huge"

	rootSnapshot = "snapshot"
	initSystemd  = "systemd"

	machineMicro = "microvm"
)

// aroundCache says whether a cache mode opens the file with O_DIRECT.
func aroundCache(mode string) bool { return mode == "none" || mode == "directsync" }

// checkLaunch refuses what QEMU could not run, or could only run as something else.
func checkLaunch(known []bench.Option, l bench.Launch) error {
	for _, o := range known {
		if v := l.Options[o.Name]; !o.Path && !slices.Contains(o.Values, v) {
			return fmt.Errorf("option %s=%q: %w%w", o.Name, v, bench.ErrInvalid,
				bench.Hint("one of: "+strings.Join(o.Values, ", ")))
		}
	}
	for name := range l.Options {
		if !slices.ContainsFunc(known, func(o bench.Option) bool { return o.Name == name }) {
			return fmt.Errorf("option %q: not one of this platform: %w", name, bench.ErrInvalid)
		}
	}
	if err := checkTogether(l.Options); err != nil {
		return err
	}
	if err := vm.CheckOwn(l); err != nil {
		return err
	}
	return vm.CheckShape(l)
}

// diskOptions are the options of disks with their values but the default.
var diskOptions = []struct {
	name   string
	values []string
}{
	{optBus, []string{vm.BusSCSI, vm.BusIDE, vm.BusNVMe}}, {optDisk, []string{vm.Qcow2}}, {optRoot, []string{vm.Qcow2, vm.Raw}},
	{optCache, []string{"writethrough", "writeback", "directsync", "unsafe"}}, {optAIO, []string{aioNative, "threads", aioURing}},
}

// checkTogether refuses options that exclude each other.
func checkTogether(o map[string]string) error {
	return bench.Availability{Lacks: exclusive}.Lacking(o)
}

// exclusive are options that exclude each other, whatever the host.
var exclusive = func() []bench.Lack {
	lack := func(hint bench.Hint, what string) bench.Lack {
		l := bench.Lack{With: map[string]string{}, Err: fmt.Errorf("%s: %w%w", what, bench.ErrInvalid, hint)}
		for kv := range strings.SplitSeq(what, " with ") {
			k, v, _ := strings.Cut(kv, "=")
			l.With[k] = v
		}
		return l
	}
	list := []bench.Lack{
		lack("a microvm has no IDE: use machine=pc or q35", "bus=ide with machine=microvm"),
		lack("vhost moves the packets of a tap: use net=tap", "vhost=on with net=user"),
		lack("vhost moves the packets of a virtio card: use nic=virtio", optVhost+"=on with "+optNIC+"="+vm.NICEmulated),
		lack("huge pages are never merged", "ksm=on with pages=huge"),
		lack("a balloon gives back pages of the usual size: use pages=normal", "balloon=yes with pages=huge"),
	}
	const own = " with " + bench.GuestOption + "=" + bench.OwnGuest
	list = append(list,
		lack("nothing of the image's boots in such a machine: leave one of the two out", optInit+"="+initSystemd+own),
		lack("nothing in such a machine is known to give memory back: leave the balloon out", optBalloon+"=yes"+own),
		lack("its server could not be reached: use net=tap", optNet+"="+netUser+own))
	for _, o := range diskOptions {
		for _, value := range o.values {
			list = append(list, lack("a machine that boots a kernel of your own has no scratch disk: leave the option out", o.name+"="+value+own))
		}
	}
	for _, cache := range []string{"writethrough", "writeback", "unsafe"} {
		list = append(list, lack("the kernel's native I/O works around the page cache only: use aio=threads", "aio=native with cache="+cache))
	}
	return list
}()
