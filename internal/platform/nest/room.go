package nest

import (
	"cmp"

	"tare/internal/bench"
)

// program is the one in the outer guests' image whose version is the inner
// platform's.
func program(inner string) string {
	return cmp.Or(map[string]string{
		"xen-pv": "xl", "xen-pvh": "xl", "xen-hvm": "xl",
		"native": "linux", "lxc": "lxc-start", "docker": "dockerd", "nspawn": "systemd-nspawn", "kvm": "qemu-system-x86_64",
		"gvisor": "runsc", "uml": "linux.uml", "libvirt": "libvirtd",
	}[inner], inner)
}

// roomFor is the memory an outer guest has beyond the instance's that its inner
// platform starts: for its kernel, the golden image's pages in its cache, and what serves the instance.
func roomFor(inner string) bench.Bytes {
	switch inner {
	case "docker", "uml":
		return 512 * bench.MiB
	case "kvm", "libvirt":
		return 768 * bench.MiB
	case "xen-pv", "xen-pvh", "xen-hvm":
		return controlRoom + 192*bench.MiB
	}
	return 256 * bench.MiB
}

// controlRoom is the memory of a control domain. Beside it and the domain there
// is what the hypervisor needs itself: for page tables, its heap, and each domain's own structures.
const controlRoom = 640 * bench.MiB

// diskRoom is what an outer guest's disk under test has beyond the inner
// instance's share: journals, logs, a daemon's store.
const diskRoom = 256 * bench.MiB

// beyond is what the outermost guest has beyond the innermost instance's shape:
// the room of each guest on the way.
func (p *Platform) beyond() bench.Room {
	var r bench.Room
	for _, name := range levels(p.inner.Name()) {
		r.Memory += roomFor(name)
		r.Disk += diskRoom
	}
	return r
}

// virtualizes says whether the inner platform runs virtual machines.
func virtualizes(inner string) bool {
	return inner == "kvm" || inner == "libvirt" || inner == "xen-pvh" || inner == "xen-hvm"
}
