package host

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Program is a program of the host that a part of Tare runs, and what was
// found of it.
type Program struct {
	Name string `json:"name"`
	// For is what needs it: platforms' names, or "image".
	For []string `json:"for"`
	// Package is the Debian and Ubuntu package that has it.
	Package string `json:"package"`
	// Args make it print its version and end.
	Args    []string `json:"-"`
	Path    string   `json:"path,omitempty"` // "" if it is not installed
	Version string   `json:"version,omitempty"`
	// Problem is why it cannot be used, "" if it can.
	Problem string `json:"problem,omitempty"`
}

// Needed lists the programs that Tare runs on the host.
func Needed() []Program {
	qemu := "qemu-system-" + map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	qemuPackage := map[string]string{"amd64": "qemu-system-x86", "arm64": "qemu-system-arm"}[runtime.GOARCH]
	long := []string{"--version"}
	vm := []string{"kvm", "qemu-tcg"}
	return []Program{
		{Name: "mmdebstrap", For: []string{"image"}, Package: "mmdebstrap", Args: long},
		{Name: "dpkg-deb", For: []string{"image"}, Package: "dpkg", Args: long},
		{Name: "depmod", For: []string{"image"}, Package: "kmod", Args: long},
		{Name: "mkfs.ext4", For: append([]string{"image"}, vm...), Package: "e2fsprogs", Args: []string{"-V"}},
		{Name: "dockerd", For: []string{"docker"}, Package: "docker.io", Args: long},
		{Name: "docker", For: []string{"docker"}, Package: "docker.io", Args: long},
		{Name: "containerd", For: []string{"docker"}, Package: "containerd", Args: long},
		{Name: "runc", For: []string{"docker"}, Package: "runc", Args: long},
		{Name: "iptables", For: []string{"docker"}, Package: "iptables", Args: long},
		{Name: "lxc-start", For: []string{"lxc"}, Package: "lxc", Args: long},
		{Name: qemu, For: vm, Package: qemuPackage, Args: long},
	}
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

func find(ctx context.Context, p Program) Program {
	for _, name := range []string{p.Name, filepath.Join("/usr/sbin", p.Name), filepath.Join("/sbin", p.Name)} {
		if path, err := exec.LookPath(name); err == nil {
			p.Path = path
			break
		}
	}
	if p.Path == "" {
		p.Problem = "not installed"
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
