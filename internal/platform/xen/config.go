package xen

import (
	"fmt"
	"strconv"
	"strings"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
	"tare/internal/platform/vm"
)

// machine is everything a domain's configuration depends on.
type machine struct {
	id, kind  string
	shape     bench.Shape
	cpus      []int
	pin       bool
	kernel    string // these are files in Dom0
	initrd    string
	root      string // these are block devices in Dom0
	scratch   string
	lease     bench.Lease
	bridge    string
	vifScript string
	more      []string // further disks, read-only; paths of block devices
	script    string   // that plugs these
	host      bool     // another platform will run in it
	nic       string   // the network card that QEMU emulates; "" for Xen's own
}

// config writes the domain as xl.cfg(5).
func (m machine) config() (string, error) {
	guest := vm.Guest{Addr: m.lease.Addr, Gateway: m.lease.Gateway,
		Root: "/dev/xvda", Scratch: "/dev/xvdb", Bus: vm.BusXen, Port: vm.PortXen}
	args, nic := "console=hvc0 quiet panic=-1 ", "type=vif"
	if m.nic != "" {
		guest.Bus, guest.NIC = vm.BusXenDisks, m.nic
		args += "xen_emul_unplug=ide-disks " // the kernel would take the emulated card away with the disks
		nic = "type=ioemu,model=" + m.nic
	}
	if m.host {
		args += "apparmor=0 " // LXC would insist on its profiles, which are not in a host's image
	}
	disks := []string{disk("xvda", "access=rw", m.root), disk("xvdb", "access=rw", m.scratch)}
	for i, device := range m.more {
		disks = append(disks, disk("xvd"+string(rune('c'+i)), "access=ro,script="+m.script, device))
	}
	mib := strconv.FormatInt(int64(m.shape.Memory/bench.MiB), 10)
	lines := []setting{
		{"name", quoted(m.id)}, {"type", quoted(m.kind)},
		{"kernel", quoted(m.kernel)}, {"ramdisk", quoted(m.initrd)},
		{"cmdline", quoted(args + guest.Args())},
		{"vcpus", strconv.Itoa(m.shape.CPUs)}, {"maxvcpus", strconv.Itoa(m.shape.CPUs)},
		{"cpus", m.affinity()},
		{"memory", mib}, {"maxmem", mib},
		{"disk", list(disks...)},
		{"vif", list(quoted(nic + ",mac=" + m.lease.MAC + ",bridge=" + m.bridge + ",script=" + m.vifScript))},
		{"on_poweroff", quoted("destroy")}, {"on_reboot", quoted("destroy")}, {"on_crash", quoted("destroy")},
		{"vga", quoted("none")}, {"vnc", "0"}, {"nographic", "1"}, {"usb", "0"},
	}
	if m.shape.CPUQuota > 0 {
		lines = append(lines, setting{"cap", strconv.Itoa(max(1, int(m.shape.CPUQuota*100+0.5)))})
	}
	if m.shape.CPUWeight > 0 {
		lines = append(lines, setting{"cpu_weight", strconv.Itoa(weight(m.shape.CPUWeight))})
	}
	var b strings.Builder
	for _, l := range lines {
		if strings.ContainsAny(l.value, "\n\\") || strings.Count(l.value, `"`)%2 != 0 {
			return "", fmt.Errorf("%s = %s: xl's configuration cannot hold it: %w", l.name, l.value, bench.ErrInvalid)
		}
		fmt.Fprintf(&b, "%s = %s\n", l.name, l.value)
	}
	return b.String(), nil
}

// setting is a line of a configuration.
type setting struct{ name, value string }

// affinity is the hard affinity: any of the CPUs, or of each virtual one its own.
func (m machine) affinity() string {
	if !m.pin {
		return quoted(cgroup.CPUList(m.cpus))
	}
	var each []string
	for n := range m.shape.CPUs {
		each = append(each, quoted(strconv.Itoa(m.cpus[n%len(m.cpus)])))
	}
	return list(each...)
}

// weight is a weight on version 2's scale of control groups on that of Xen's
// schedulers, whose default is 256.
func weight(v2 int) int { return min(max((v2*256+50)/100, 1), 65535) }

func disk(device, how, target string) string {
	return quoted("format=raw," + how + ",backendtype=phy,vdev=" + device + ",target=" + target)
}

func quoted(s string) string { return `"` + s + `"` }

func list(items ...string) string { return "[ " + strings.Join(items, ", ") + " ]" }
