package host

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Program is a program of the host that a part of Tare runs, or a file that it
// reads, and what was found of it.
type Program struct {
	// Name is looked up in PATH; an absolute path is a file.
	Name string `json:"name"`
	// For is what needs it: a platform, a value of an option, "image" for all, or [Tests].
	For []string `json:"for"`
	// Package is the Debian or Ubuntu package that has it. Where releases differ it
	// is several, with | between them: the first that the release knows.
	Package string `json:"package"`
	// Optional says that what needs it does without, or that no package has it everywhere.
	Optional bool `json:"optional,omitempty"`
	// Args make it print its version and end; none if it tells none.
	Args    []string `json:"-"`
	Path    string   `json:"path,omitempty"` // "" if it is not installed
	Version string   `json:"version,omitempty"`
	// Problem is why it cannot be used, "" if it can.
	Problem string `json:"problem,omitempty"`
}

// Tests is what needs the programs that only tests run.
const Tests = "tests"

// every names what every measurement needs besides its platforms.
const every = "image"

// Programs lists the programs and files of the host that Tare uses, and the
// packages that have them. It is the only such list: set-up installs by it.
func Programs() []Program {
	qemu := "qemu-system-" + map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	qemuPackage := map[string]string{"amd64": "qemu-system-x86", "arm64": "qemu-system-arm"}[runtime.GOARCH]
	long := []string{"--version"}
	vm := []string{"kvm", "qemu-tcg", "libvirt", "libvirt-tcg"}
	xen := []string{"xen-pv", "xen-pvh", "xen-hvm"}
	machines := slices.Concat(vm, xen, []string{"uml", "firecracker", "cloud-hypervisor"})
	image := []string{every}
	tests := []string{Tests}
	return []Program{
		{Name: "mmdebstrap", For: image, Package: "mmdebstrap", Args: long},
		{Name: "/usr/share/keyrings/debian-archive-keyring.gpg", For: image, Package: "debian-archive-keyring"},
		{Name: "apt-config", For: image, Package: "apt", Args: long},
		{Name: "dpkg-deb", For: image, Package: "dpkg", Args: long},
		{Name: "depmod", For: image, Package: "kmod", Args: long},
		{Name: "mkfs.ext4", For: slices.Concat(image, machines, []string{"INNER@OUTER"}), Package: "e2fsprogs", Args: []string{"-V"}},
		{Name: "xz", For: slices.Concat(image, machines), Package: "xz-utils", Args: long},
		{Name: "zstd", For: slices.Concat(image, machines), Package: "zstd", Args: long},
		{Name: "lz4", For: tests, Package: "lz4", Args: long},
		{Name: "gzip", For: image, Package: "gzip", Args: long},
		{Name: "iptables", For: image, Package: "iptables", Args: long},
		{Name: "losetup", For: slices.Concat(xen, []string{"docker"}, tests), Package: "mount", Args: long},
		{Name: "mkswap", For: image, Package: "util-linux", Args: long},

		{Name: "dockerd", For: []string{"docker"}, Package: "docker.io", Args: long},
		{Name: "docker", For: []string{"docker"}, Package: "docker-cli|docker.io", Args: long},
		{Name: "containerd", For: []string{"docker", "containerd"}, Package: "containerd", Args: long},
		{Name: "ctr", For: []string{"containerd"}, Package: "containerd", Args: long},
		{Name: "runc", For: []string{"docker", "containerd", "runc"}, Package: "runc", Args: long},
		// crun makes the directory in which it keeps containers before it says which that is.
		{Name: "crun", For: []string{"crun", "libkrun"}, Package: "crun", Args: slices.Concat([]string{"--root=/"}, long)},
		{Name: "podman", For: []string{"podman"}, Package: "podman", Args: long},
		{Name: "newuidmap", For: []string{"podman"}, Package: "uidmap"},
		{Name: "lxc-start", For: []string{"lxc"}, Package: "lxc", Args: long},
		{Name: "lxc-execute", For: []string{"lxc"}, Package: "lxc", Args: long},
		{Name: "cp", For: []string{"lxc", "kvm", "qemu-tcg"}, Package: "coreutils", Args: long},
		{Name: "bwrap", For: []string{"bwrap"}, Package: "bubblewrap", Args: long},
		{Name: "systemd-nspawn", For: []string{"nspawn"}, Package: "systemd-container", Args: long},
		{Name: "incusd", For: []string{"incus"}, Package: "incus-base", Args: long, Optional: true},
		{Name: "incus", For: []string{"incus"}, Package: "incus-client", Args: long, Optional: true},
		{Name: "rsync", For: []string{"incus"}, Package: "rsync", Args: long},
		{Name: "setfattr", For: []string{"incus"}, Package: "attr", Args: long},
		{Name: "unsquashfs", For: []string{"incus"}, Package: "squashfs-tools"},
		{Name: "runsc", For: []string{"gvisor"}, Package: "runsc", Args: long, Optional: true},
		{Name: "criu", For: []string{"runc", "crun", "podman"}, Package: "criu", Args: long, Optional: true},
		{Name: "mkfs.btrfs", For: []string{"btrfs"}, Package: "btrfs-progs", Args: long},

		{Name: qemu, For: vm, Package: qemuPackage, Args: long},
		{Name: "qemu-img", For: vm, Package: "qemu-utils", Args: long},
		{Name: "libvirtd", For: []string{"libvirt", "libvirt-tcg"}, Package: "libvirt-daemon-system", Args: long},
		{Name: "virsh", For: []string{"libvirt", "libvirt-tcg"}, Package: "libvirt-clients", Args: long},
		{Name: "linux.uml", For: []string{"uml"}, Package: "user-mode-linux", Args: long},
		{Name: "xl", For: xen, Package: "xen-system-" + runtime.GOARCH, Optional: true},
		{Name: "xenstore-read", For: xen, Package: "xen-utils-common", Optional: true},
		{Name: "dmsetup", For: xen, Package: "dmsetup", Optional: true},
		{Name: "blockdev", For: xen, Package: "util-linux", Args: long},
		{Name: "mksquashfs", For: image, Package: "squashfs-tools", Optional: true},
		{Name: "mkfs.erofs", For: image, Package: "erofs-utils", Optional: true},

		{Name: "cpio", For: tests, Package: "cpio"},
		{Name: "tar", For: tests, Package: "tar"},
		{Name: "mount", For: tests, Package: "mount"},
		{Name: "umount", For: tests, Package: "mount"},
		{Name: "unshare", For: tests, Package: "util-linux"},
		{Name: "setpriv", For: tests, Package: "util-linux"},
		{Name: "pgrep", For: tests, Package: "procps"},
		{Name: "perf", For: tests, Package: "linux-perf|linux-tools-generic"},
		{Name: "sysbench", For: tests, Package: "sysbench"},
		{Name: "dumpe2fs", For: tests, Package: "e2fsprogs"},
		{Name: "ip", For: tests, Package: "iproute2"},
		{Name: "snmpd", For: tests, Package: "snmpd"},
		{Name: "ipmi_sim", For: tests, Package: "openipmi"},
		{Name: "/usr/lib/python3/dist-packages/pyghmi", For: tests, Package: "python3-pyghmi"},
		{Name: "/usr/lib/python3/dist-packages/pandas", For: tests, Package: "python3-pandas"},
		{Name: "python3", For: tests, Package: "python3"},
		{Name: "jq", For: tests, Package: "jq"},
		{Name: "chromium", For: tests, Package: "chromium|chromium-browser"},
	}
}

// Missing returns those of the programs that are needed and not installed, but
// for the optional ones. Every measurement needs those of the image, and
// besides those for any of the words, which are platforms, values of their
// options, or [Tests], which need those of every platform.
func Missing(programs []Program, words []string) []Program {
	var list []Program
	for _, p := range programs {
		needed := slices.Contains(words, Tests) || slices.Contains(p.For, every) ||
			slices.ContainsFunc(p.For, func(by string) bool { return slices.Contains(words, by) })
		if needed && !p.Optional && p.find() == "" {
			list = append(list, p)
		}
	}
	return list
}

// Programs write their versions "20.10.24+dfsg1" or, a few, "30".
var (
	dottedVersion = regexp.MustCompile(`\d+(\.\d+)+[0-9A-Za-z.+~-]*`)
	plainVersion  = regexp.MustCompile(`\b\d+\b`)
)

// versionIn finds the version in what a program printed, "" if there is none.
func versionIn(text string) string {
	if v := dottedVersion.FindString(text); v != "" {
		return v
	}
	return plainVersion.FindString(text)
}

// programDeadline is far longer than any program takes to print its version.
const programDeadline = 800 * time.Millisecond

// FindPrograms looks for each program in PATH, and in the directories of
// root's programs, which PATH may lack, and asks all at once for their
// versions. It runs them with nothing but that request and changes nothing.
func FindPrograms(ctx context.Context, programs []Program) []Program {
	found := make([]Program, len(programs))
	var wg sync.WaitGroup
	for i, p := range programs {
		wg.Go(func() { found[i] = find(ctx, p) })
	}
	wg.Wait()
	return found
}

// find returns where the program or file is, "" if it is not installed.
func (p Program) find() string {
	if filepath.IsAbs(p.Name) {
		if _, err := os.Stat(p.Name); err == nil {
			return p.Name
		}
		return ""
	}
	for _, dir := range []string{"", "/usr/sbin", "/sbin"} {
		if path, err := exec.LookPath(filepath.Join(dir, p.Name)); err == nil {
			return path
		}
	}
	return ""
}

func find(ctx context.Context, p Program) Program {
	p.Path = p.find()
	if p.Path == "" {
		p.Problem = "not installed"
		return p
	}
	if len(p.Args) == 0 {
		return p
	}
	ctx, cancel := context.WithTimeout(ctx, programDeadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.Path, p.Args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // with its children
	cmd.WaitDelay = 100 * time.Millisecond                                               // a child of it may keep the pipe
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.Problem = fmt.Sprintf("%s %s: %v", p.Path, strings.Join(p.Args, " "), err)
		return p
	}
	if p.Version = versionIn(string(out)); p.Version == "" {
		p.Problem = fmt.Sprintf("no version in what it printed, %q", strings.TrimSpace(string(out)))
	}
	return p
}
