package host

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"tare/internal/bench"
)

// Program is a host program that Tare runs, or a file that it reads, with its state on this host.
type Program struct {
	// Name is looked up in PATH; an absolute path is a file.
	Name string `json:"name"`
	// For lists what needs it: a platform, a value of an option, "image" for all, or [Tests].
	For []string `json:"for"`
	// Package is the Debian or Ubuntu package that has it. If releases differ it lists several
	// separated by |. The first that the release has is used.
	Package string `json:"package"`
	// Optional says that it is not required, or that some releases have no package of it.
	Optional bool `json:"optional,omitempty"`
	// Args make it print its version and exit; empty if it has no such option.
	Args    []string `json:"-"`
	Path    string   `json:"path,omitempty"` // "" if it is not installed
	Version string   `json:"version,omitempty"`
	// Problem says why it cannot be used, "" if it can.
	Problem string `json:"problem,omitempty"`
}

// Tests stands in For for programs that only tests run.
const Tests = "tests"

// every stands in For for programs that every measurement needs.
const every = "image"

// version is what most programs answer with theirs.
var version = []string{"--version"}

// Programs lists the programs and files of the host that Tare uses, and the
// packages that have them: those of the image, of each platform, and of the tests. It is
// the only such list: set-up installs by it.
func Programs(platforms []bench.Platform) []Program {
	list := imagePrograms()
	for _, p := range platforms {
		for _, n := range p.Traits().Programs {
			row := Program{Name: n.Name, For: []string{cmp.Or(n.For, p.Name())}, Package: n.Package, Optional: n.Optional, Args: n.Args}
			if n.Args == nil && !n.Mute {
				row.Args = version
			}
			list = enter(list, row)
		}
	}
	for _, row := range testPrograms() {
		list = enter(list, row)
	}
	return list
}

// enter adds a row, or to the row of the same name what else needs the program.
func enter(list []Program, row Program) []Program {
	i := slices.IndexFunc(list, func(in Program) bool { return in.Name == row.Name })
	if i < 0 {
		return append(list, row)
	}
	list[i].For = append(list[i].For, row.For...)
	list[i].Optional = list[i].Optional && row.Optional
	return list
}

// imagePrograms are what every measurement needs, besides its platforms.
func imagePrograms() []Program {
	image := []string{every}
	return []Program{
		{Name: "mmdebstrap", For: image, Package: "mmdebstrap", Args: version},
		{Name: "/usr/share/keyrings/debian-archive-keyring.gpg", For: image, Package: "debian-archive-keyring"},
		{Name: "apt-config", For: image, Package: "apt", Args: version},
		{Name: "dpkg-deb", For: image, Package: "dpkg", Args: version},
		{Name: "depmod", For: image, Package: "kmod", Args: version},
		{Name: "mkfs.ext4", For: []string{every, "INNER@OUTER"}, Package: "e2fsprogs", Args: []string{"-V"}},
		{Name: "xz", For: image, Package: "xz-utils", Args: version},
		{Name: "zstd", For: image, Package: "zstd", Args: version},
		{Name: "gzip", For: image, Package: "gzip", Args: version},
		{Name: "iptables", For: image, Package: "iptables", Args: version},
		{Name: "mkswap", For: image, Package: "util-linux", Args: version},
		{Name: "pip3", For: image, Package: "python3-pip", Optional: true},
		{Name: "mksquashfs", For: image, Package: "squashfs-tools", Optional: true},
		{Name: "mkfs.erofs", For: image, Package: "erofs-utils", Optional: true},
	}
}

// testPrograms are what only tests run.
func testPrograms() []Program {
	tests := []string{Tests}
	return []Program{
		{Name: "lz4", For: tests, Package: "lz4", Args: version},
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
		{Name: "nsenter", For: tests, Package: "util-linux"},
		{Name: "/usr/lib/cni/bridge", For: tests, Package: "containernetworking-plugins"},
		{Name: "/usr/sbin/sshd", For: tests, Package: "openssh-server"},
		{Name: "ssh", For: tests, Package: "openssh-client"},
		{Name: "ssh-keygen", For: tests, Package: "openssh-client"},
		{Name: "redis-benchmark", For: tests, Package: "redis-tools"},
		{Name: "snmpd", For: tests, Package: "snmpd"},
		{Name: "ipmi_sim", For: tests, Package: "openipmi"},
		{Name: "/usr/lib/python3/dist-packages/pyghmi", For: tests, Package: "python3-pyghmi"},
		{Name: "/usr/lib/python3/dist-packages/pandas", For: tests, Package: "python3-pandas"},
		{Name: "python3", For: tests, Package: "python3"},
		{Name: "jq", For: tests, Package: "jq"},
		{Name: "chromium", For: tests, Package: "chromium|chromium-browser"},
	}
}

// Missing returns the required programs that are not installed, without the optional ones. Every
// measurement needs the programs of the image and those of the words. The words are platforms,
// values of their options, or [Tests]. Tests need the programs of every platform.
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

// versionIn returns the version in a program's output, "" if there is none.
func versionIn(text string) string {
	if v := dottedVersion.FindString(text); v != "" {
		return v
	}
	return plainVersion.FindString(text)
}

// programDeadline is much longer than any program takes to print its version.
const programDeadline = 800 * time.Millisecond

// FindPrograms looks for each program in PATH and in root's program directories, which PATH may
// lack. It asks all of them for their versions in parallel. It changes nothing.
func FindPrograms(ctx context.Context, programs []Program) []Program {
	found := make([]Program, len(programs))
	var wg sync.WaitGroup
	for i, p := range programs {
		wg.Go(func() { found[i] = find(ctx, p) })
	}
	wg.Wait()
	return found
}

// find returns the path of the program or file, "" if it is not installed.
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
	cmd.WaitDelay = 100 * time.Millisecond                                               // its child may keep the pipe open
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
