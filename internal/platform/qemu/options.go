package qemu

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/bench"
)

// The names of the options.
const (
	optMachine = "machine"
	optDisk    = "disk"
	optCache   = "cache"
	optAIO     = "aio"
	optVhost   = "vhost"
)

// options are the variant switches. Both platforms have the same but for the
// machines that run.
func options(machines ...string) []bench.Option {
	return []bench.Option{
		{Name: optMachine, Values: machines, Default: machines[0],
			Doc: "the machine: q35 is a PC with PCI Express, as users have it; microvm (kvm only) leaves out its legacy"},
		{Name: optDisk, Values: []string{"virtio"}, Default: "virtio",
			Doc: "the bus of the disks"},
		{Name: optCache, Values: []string{"none", "writeback"}, Default: "none",
			Doc: "the scratch disk and the host's page cache: none goes around it, writeback through it"},
		{Name: optAIO, Values: []string{"native", "threads", "io_uring"}, Default: "native",
			Doc: "how QEMU does the scratch disk's I/O on the host; native needs cache=none"},
		{Name: optVhost, Values: []string{"auto", "on", "off"}, Default: "auto",
			Doc: "move packets in the host's kernel; auto does where the host has /dev/vhost-net"},
	}
}

// checkLaunch refuses what QEMU could not run, or could only run as something else.
func checkLaunch(known []bench.Option, l bench.Launch) error {
	for _, o := range known {
		if v := l.Options[o.Name]; !slices.Contains(o.Values, v) {
			return fmt.Errorf("option %s=%q: %w%w", o.Name, v, bench.ErrInvalid,
				bench.Hint("one of: "+strings.Join(o.Values, ", ")))
		}
	}
	for name := range l.Options {
		if !slices.ContainsFunc(known, func(o bench.Option) bool { return o.Name == name }) {
			return fmt.Errorf("option %q: not one of this platform: %w", name, bench.ErrInvalid)
		}
	}
	switch {
	case l.Options[optAIO] == "native" && l.Options[optCache] != "none":
		return fmt.Errorf("aio=native with cache=%s: %w%w", l.Options[optCache], bench.ErrInvalid,
			bench.Hint("the kernel's native I/O works around the page cache only: use aio=threads"))
	case l.Shape.CPUs < 1:
		return fmt.Errorf("%d CPUs: %w", l.Shape.CPUs, bench.ErrInvalid)
	case l.Shape.Memory < minMemory:
		return fmt.Errorf("memory %v: a guest with a kernel of its own needs %v: %w", l.Shape.Memory, minMemory, bench.ErrInvalid)
	case l.Shape.Disk < minDisk:
		return fmt.Errorf("disk %v: a file system needs %v: %w", l.Shape.Disk, minDisk, bench.ErrInvalid)
	case len(l.CPUSet) == 0:
		return fmt.Errorf("no host CPU to run on: %w", bench.ErrInvalid)
	case l.NetNS != "":
		return fmt.Errorf("network namespace %s: a virtual machine can only be in the lab's: %w", l.NetNS, bench.ErrInvalid)
	}
	return nil
}

// The least a guest can do with: below, its kernel has no room for its initial
// RAM file system, or mkfs for a journal.
const (
	minMemory = 128 * bench.MiB
	minDisk   = 16 * bench.MiB
)
