// Package cloudhypervisor runs virtual machines by Cloud Hypervisor: virtio
// devices on PCI with a thread for each queue, and a kernel started by itself.
package cloudhypervisor

import (
	"fmt"
	"strings"

	"tare/internal/bench"
	"tare/internal/platform/microvm"
	"tare/internal/platform/vm"
)

// The names of the options.
const (
	optCache = "cache"
	optPages = "pages"
	optPin   = "pin"
)

// New returns the platform. What the trial boot found out is kept in the directory state.
func New(state string) *microvm.Platform { return microvm.New(monitor(), state) }

func monitor() microvm.Monitor {
	return microvm.Monitor{
		Name:    "cloud-hypervisor",
		Program: "cloud-hypervisor",
		Summary: "virtual machines by Cloud Hypervisor with KVM",
		Install: "put cloud-hypervisor into the PATH, from a release at https://github.com/cloud-hypervisor/cloud-hypervisor/releases",
		Banner:  "cloud-hypervisor v",
		// The first whose serial line can be a socket.
		Oldest: microvm.Version{Major: 36, Text: "36"},
		Options: []bench.Option{
			{Name: optCache, Values: []string{"none", "writeback"}, Default: "none",
				Doc: "the scratch disk and the host's page cache: none goes around it (direct=on), writeback through it"},
			{Name: optPages, Values: []string{"normal", "huge"}, Default: "normal",
				Doc: "the guest's memory: pages of the usual size, or huge ones set aside on the host"},
			{Name: optPin, Values: []string{"off", "on"}, Default: "off",
				Doc: "bind each virtual CPU to one CPU of the instance, in order"},
			bench.GuestChoice(),
		},
		Caveats: []bench.Caveat{
			{Text: bench.NoDirect + ": its disk figures include the host's page cache", With: map[string]string{optCache: "writeback"}},
		},
		Lacks: func(microvm.Version) []bench.Lack {
			var a bench.Availability
			a.Lack(optPages, "huge", vm.NeedAnyHuge("/"))
			return a.Lacks
		},
		// vmm/src/cpu.rs; a thread for each queue of a device: "_disk0_q0", "_net1_ctrl".
		Threads: bench.Threads{VCPU: []string{"vcpu[0-9]*"}, IO: []string{"_disk*", "_net*"}},

		Refuse: refuse,
		Argv:   argv,
		Line:   fileLine,
	}
}

// fileLine is the socket of the serial line, in the machine's directory, which is
// the working directory: the path of a socket must be short.
const fileLine = "serial.sock"

// refuse says what Cloud Hypervisor could not run.
func refuse(m microvm.Machine) error {
	for _, path := range []string{m.Dir, m.Root} {
		if strings.ContainsAny(path, `,"[]`) {
			return fmt.Errorf("path %q: a comma, quotation mark or bracket cannot be said on Cloud Hypervisor's command line: %w%w",
				path, bench.ErrInvalid, bench.Hint("use a state directory without them"))
		}
	}
	if m.Options[optPages] == "huge" {
		return vm.NeedHuge("/", m.Memory)
	}
	return nil
}

// argv is the command line. Virtual CPUs cannot be added later, and there is no
// console beside the serial line, whose output in a trial is the standard output.
func argv(m microvm.Machine) ([]string, error) {
	cpus := fmt.Sprintf("boot=%d,max=%d", m.CPUs, m.CPUs)
	if m.Options[optPin] == "on" {
		cpus += ",affinity=" + affinity(m.CPUs, m.CPUSet)
	}
	memory := fmt.Sprintf("size=%dK", m.Memory/bench.KiB)
	if m.Options[optPages] == "huge" {
		memory += ",hugepages=on"
	}
	argv := []string{"cloud-hypervisor", "--cpus", cpus, "--memory", memory, "--kernel", m.Kernel}
	if m.Initrd != "" {
		argv = append(argv, "--initramfs", m.Initrd)
	}
	argv = append(argv, "--cmdline", m.Cmdline(""), "--console", "off")
	if m.Trial() {
		return append(argv, "--serial", "tty"), nil
	}
	argv = append(argv, "--serial", "socket="+fileLine)
	if m.Disk != "" {
		argv = append(argv, "--disk", disk(m, m.Disk, direct[m.Options[optCache]]))
	}
	if m.Own {
		return append(argv, "--net", "tap="+m.Tap+",mac="+m.MAC), nil
	}
	return append(argv, "--disk", disk(m, m.Root, "readonly=on"), disk(m, m.Scratch, direct[m.Options[optCache]]), disk(m, m.Layer, "direct=off"),
		"--net", "tap="+m.Tap+",mac="+m.MAC), nil
}

// direct is how the scratch disk, or the user's own, is opened, by the option's value.
var direct = map[string]string{"none": "direct=on", "writeback": "direct=off"}

// explicitType is the first version that is told a disk's format, and that of a
// disk whose format it finds out by itself keeps the guest from writing its first sector.
var explicitType = microvm.Version{Major: 51}

// disk is a value of --disk. They get their names in the guest in their order.
func disk(m microvm.Machine, path, how string) string {
	value := "path=" + path + "," + how
	if m.Version.AtLeast(explicitType) {
		value += ",image_type=raw"
	}
	return value
}

// affinity binds virtual CPUs to CPUs of the host, one each, in order.
func affinity(virtual int, host []int) string {
	var list []string
	for v := range virtual {
		list = append(list, fmt.Sprintf("%d@[%d]", v, host[v%len(host)]))
	}
	return "[" + strings.Join(list, ",") + "]"
}
