package host

import (
	"os"
	"slices"
	"strings"
)

// none is the hypervisor of bare metal.
const none = "none"

// signatures maps the hypervisors' texts in CPUID leaf 0x40000000 to their names.
var signatures = map[string]string{
	"KVMKVMKVM": "KVM", "TCGTCGTCGTCG": "QEMU without KVM", "XenVMMXenVMM": "Xen",
	"Microsoft Hv": "Hyper-V", "VMwareVMware": "VMware", "VBoxVBoxVBox": "VirtualBox",
	"bhyve bhyve ": "bhyve", "prl hyperv  ": "Parallels", "ACRNACRNACRN": "ACRN",
}

// makers maps the start of a DMI field to the virtual machine's name.
var makers = []struct{ start, name string }{
	{"Amazon EC2", "KVM"}, {"Google Compute Engine", "KVM"}, {"KubeVirt", "KVM"}, {"OpenStack", "KVM"},
	{"QEMU", "QEMU"}, {"KVM", "KVM"}, {"Bochs", "QEMU"}, {"SeaBIOS", "QEMU"}, {"VMware", "VMware"}, {"VMW", "VMware"},
	{"innotek GmbH", "VirtualBox"}, {"VirtualBox", "VirtualBox"}, {"Xen", "Xen"}, {"Parallels", "Parallels"},
	{"BHYVE", "bhyve"}, {"Hyper-V", "Hyper-V"}, {"Apple Virtualization", "Apple"},
}

// readHypervisor reads this host's hypervisor and whether it is in a container.
func readHypervisor(t tree, f *Facts) error {
	dmi := func(field string) string { return t.word("/sys/class/dmi/id/"+field, "") }
	f.Product = strings.TrimSpace(dmi("sys_vendor") + " " + dmi("product_name"))
	f.Hypervisor = hypervisor(t, []string{dmi("product_name"), dmi("sys_vendor"), dmi("board_vendor"), dmi("bios_vendor")})
	// The first PID namespace has a fixed inode, PROC_PID_INIT_INO.
	ns, err := os.Readlink(t.path("/proc/self/ns/pid"))
	f.Container = err == nil && ns != "pid:[4026531836]"
	return nil
}

func hypervisor(t tree, dmi []string) string {
	if t.word("/sys/hypervisor/type", "") == "xen" {
		if strings.Contains(t.word("/proc/xen/capabilities", ""), "control_d") {
			return "Xen (this is dom0)"
		}
		return "Xen"
	}
	info := t.fields("/proc/cpuinfo", ":")
	if info["vendor_id"] == "User Mode Linux" {
		return "User Mode Linux"
	}
	flags, onX86 := info["flags"]
	if onX86 && !slices.Contains(strings.Fields(flags), "hypervisor") {
		return none
	}
	if name := signatures[cpuidSignature(t)]; name != "" {
		return name
	}
	for _, field := range dmi {
		for _, m := range makers {
			if strings.HasPrefix(field, m.start) {
				return m.name
			}
		}
	}
	if strings.Contains(t.word("/proc/device-tree/hypervisor/compatible", ""), "kvm") {
		return "KVM"
	}
	// Each hypervisor provides its own clock source.
	clocks := t.word("/sys/devices/system/clocksource/clocksource0/available_clocksource", "")
	for _, c := range []struct{ part, name string }{{"kvm-clock", "KVM"}, {"hyperv", "Hyper-V"}, {"xen", "Xen"}} {
		if strings.Contains(clocks, c.part) {
			return c.name
		}
	}
	if onX86 {
		return unknown // the flag says that there is a hypervisor
	}
	return none
}

// cpuidSignature reads the hypervisor's leaf through the cpuid device, if it exists.
func cpuidSignature(t tree) string {
	f, err := os.Open(t.path("/dev/cpu/0/cpuid"))
	if err != nil {
		return ""
	}
	defer f.Close()
	var leaf [16]byte // eax, then the signature in ebx, ecx, edx
	if _, err := f.ReadAt(leaf[:], 0x40000000); err != nil {
		return ""
	}
	return strings.TrimRight(string(leaf[4:]), "\x00")
}
