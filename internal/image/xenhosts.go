package image

// RoleXenHosts is the role of the image that the control domain of a nesting in
// which Xen runs is booted from.
const RoleXenHosts = "xen-hosts"

// XenHosts is the recipe of the image of an outer guest that boots under Xen: a
// small control domain with Xen, its tools, and a kernel, since the golden image's,
// made for clouds, can be a domain but not the control domain.
func XenHosts() Recipe {
	r := Hosts()
	r.Role = RoleXenHosts
	r.Packages = []string{
		"xen-hypervisor-4.20-amd64", "xen-utils-4.20", "qemu-system-xen", "seabios", "dmsetup",
		"kmod", "iproute2", "iptables", "nftables", "procps", "e2fsprogs", "xz-utils", "mount",
	}
	r.Kernel, r.Script = "linux-image-amd64", kernelScript
	r.Programs = []Program{
		{"xl", "/usr/sbin/xl", nil, "xen-utils-4.20"},
		{"xen", Hypervisor, nil, "xen-hypervisor-4.20-amd64"},
		{"xen-qemu-system-i386", "/usr/libexec/xen-qemu-system-i386", []string{"--version"}, "qemu-system-xen"},
		{"dmsetup", "/usr/sbin/dmsetup", nil, "dmsetup"},
		{"iptables", "/usr/sbin/iptables", nil, "iptables"},
	}
	return r
}

// Hypervisor is where the control domain's image has Xen, packed by gzip.
const Hypervisor = "/boot/xen-4.20-amd64.gz"

// NewXenHosts returns the store of that image in a state directory.
func NewXenHosts(dir string) *Store { return &Store{Dir: dir, Recipe: XenHosts()} }
