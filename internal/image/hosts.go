package image

import "slices"

// RoleHosts is the role of the image a nesting's outer guest boots from.
const RoleHosts = "hosts"

// Hosts is the recipe of the image that an outer guest of a nesting boots from:
// a small host with the programs of the platforms that run inside it. It holds
// none of what is measured, and no kernel: an outer guest runs the golden
// image's.
func Hosts() Recipe {
	r := bare()
	r.Role = RoleHosts
	r.Packages = []string{
		"docker.io", "docker-cli", "containerd", "runc", "crun", "podman", "uidmap", "lxc",
		"qemu-system-x86", "qemu-utils", "seabios", "ipxe-qemu",
		"user-mode-linux", "libvirt-daemon", "libvirt-daemon-driver-qemu", "libvirt-clients",
		"kmod", "iproute2", "iptables", "nftables", "procps", "e2fsprogs", "xz-utils", "bubblewrap", "systemd-container",
	}
	r.Kernel, r.Script = "", ""
	r.Dirs = []string{"scratch", "lib/modules", "mnt/golden", "mnt/tools"}
	r.Files = map[string]string{
		"etc/hostname":    "tare-host\n",
		"etc/hosts":       "127.0.0.1 localhost tare-host\n::1 localhost\n",
		"etc/resolv.conf": "",
	}
	r.Programs = []Program{
		{"dockerd", "/usr/sbin/dockerd", []string{"--version"}, "docker.io"},
		{"docker", "/usr/bin/docker", []string{"--version"}, "docker-cli"},
		{"containerd", "/usr/bin/containerd", nil, "containerd"},
		{"runc", "/usr/sbin/runc", nil, "runc"},
		{"crun", "/usr/bin/crun", nil, "crun"},
		{"podman", "/usr/bin/podman", nil, "podman"},
		{"systemd-nspawn", "/usr/bin/systemd-nspawn", nil, "systemd-container"},
		{"lxc-start", "/usr/bin/lxc-start", nil, "lxc"},
		{"qemu-system-x86_64", "/usr/bin/qemu-system-x86_64", nil, "qemu-system-x86"},
		{"linux.uml", "/usr/bin/linux.uml", nil, "user-mode-linux"},
		{"libvirtd", "/usr/sbin/libvirtd", nil, "libvirt-daemon"},
		{"bwrap", "/usr/bin/bwrap", nil, "bubblewrap"},
		{"iptables", "/usr/sbin/iptables", nil, "iptables"},
	}
	r.Exclude = slices.Concat(r.Exclude, []string{
		// Firmware and desktop parts of QEMU's that no guest of ours asks for.
		"/usr/share/icons/*", "/usr/share/applications/*", "/usr/share/qemu/edk2-*",
	})
	return r
}

// NewHosts returns the store of the outer guests' image in a state directory.
func NewHosts(dir string) *Store { return &Store{Dir: dir, Recipe: Hosts()} }
