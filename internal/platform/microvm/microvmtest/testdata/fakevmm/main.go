// Fakevmm takes the place of Firecracker or Cloud Hypervisor, by the name it is
// started as. It reads their command line and configuration as strictly as they
// do and looks for all that a machine needs, but runs none: in the guest's place the
// agent of the initial RAM file system serves on the serial line, on the host's
// kernel, with the machine's disks.
// In the place of a guest of the user's own it starts /init of the initial RAM file system as a process
// of the host, in a network namespace whose card is joined to the machine's tap.
// Beside a file named "broken" it fails as they do where KVM does not work.
package main

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"tare/internal/guest/serial"
)

// machine is what both are told in their own words.
type machine struct {
	kernel, initrd, cmdline string
	cpus                    int
	memory                  int64 // bytes
	disks                   []disk
	tap                     string
	socket                  string // of the serial line; "" for standard input and output
}

type disk struct {
	path     string
	readOnly bool
}

func main() {
	runtime.LockOSThread() // of a mount namespace of its own, in which the agent is started
	program := map[string]struct {
		version string
		parse   func([]string) (machine, error)
		failure string
	}{
		"firecracker": {"Firecracker v1.12.0\n\n", parseFirecracker,
			"Error: RunWithoutApiError(BuildMicroVMFromJson(StartMicroVM(Kvm(Kvm(Error(1))))))"},
		"cloud-hypervisor": {"cloud-hypervisor v51.1.0\n", parseCloudHypervisor,
			"Error: Cloud Hypervisor exited with the following chain of errors:\n  0: Error booting VM\n  1: Failed to set up KVM"},
	}[filepath.Base(os.Args[0])]
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Print(program.version)
		return
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(os.Args[0]), "broken")); err == nil {
		fmt.Fprintln(os.Stderr, program.failure)
		os.Exit(1)
	}
	m, err := program.parse(os.Args[1:])
	if err == nil {
		err = run(m)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func run(m machine) error {
	if err := m.check(); err != nil {
		return err
	}
	if m.own() {
		return m.boot()
	}
	if len(m.disks) != 3 { // a trial
		fmt.Print("tare-agent: first process of the guest\r\n")
		return nil
	}
	line, err := m.line()
	if err != nil {
		return err
	}
	fmt.Fprint(line, "Linux version 0.0\r\ntare-agent: first process of the guest\r\n")
	return m.serve(serial.NewGuest(line))
}

// check expects all that the machine is made of.
func (m machine) check() error {
	kernel, err := elf.Open(m.kernel)
	if err != nil {
		return err
	}
	defer kernel.Close()
	least := int64(128 << 20)
	if m.own() {
		least = 0
	}
	if kernel.Machine != elf.EM_X86_64 || m.cpus < 1 || m.memory < least {
		return fmt.Errorf("a machine with %v, %d CPUs and %d bytes", kernel.Machine, m.cpus, m.memory)
	}
	if !m.own() && !strings.HasPrefix(m.cmdline, "console=ttyS0 ") {
		return fmt.Errorf("the kernel would say nothing: %q", m.cmdline)
	}
	for _, d := range m.disks {
		flag := os.O_RDWR
		if d.readOnly {
			flag = os.O_RDONLY
		}
		f, err := os.OpenFile(d.path, flag, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		if m.own() {
			continue
		}
		magic := make([]byte, 2)
		if _, err := f.ReadAt(magic, 1024+56); err != nil || string(magic) != "\x53\xef" {
			return fmt.Errorf("disk %s: no ext4: %x, %w", d.path, magic, err)
		}
	}
	if m.tap == "" {
		return nil
	}
	_, err = net.InterfaceByName(m.tap)
	return err
}

// own reports whether the machine boots a kernel of the user's own, which has a network and no disk but its own.
func (m machine) own() bool { return len(m.disks) < 3 && m.tap != "" }

func (m machine) line() (io.ReadWriter, error) {
	if m.socket == "" {
		return struct {
			io.Reader
			io.Writer
		}{os.Stdin, os.Stdout}, nil
	}
	ln, err := net.Listen("unix", m.socket)
	if err != nil {
		return nil, err
	}
	defer ln.Close()
	return ln.Accept()
}

// serve runs the agent on the disks until it ends.
func (m machine) serve(line io.ReadWriter) error {
	root, err := m.mount()
	if err != nil {
		return err
	}
	init, err := memberOf(m.initrd, "init")
	if err != nil {
		return err
	}
	const file = "/run/init"
	if err := os.WriteFile(root+file, init, 0o700); err != nil {
		return err
	}
	agent := exec.Command(file, "serve")
	agent.Path, agent.Dir = file, "/"
	agent.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	in, err := agent.StdinPipe()
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(in, line) // ends with the line
		in.Close()
	}()
	agent.Stdout, agent.Stderr = line, os.Stderr
	return agent.Run()
}

// mount does what the guest does with its disks, in a mount namespace of this
// thread's own, and returns where the root is.
func (m machine) mount() (root string, err error) {
	const at = "/tmp"
	root = at + "/root"
	if err := errors.Join(unix.Unshare(unix.CLONE_NEWNS), unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""),
		unix.Mount("tmp", at, "tmpfs", 0, "")); err != nil {
		return "", err
	}
	for _, mount := range [][]string{
		{"-o", "loop,ro", m.disks[0].path, at + "/lower"},
		{"-o", "loop", m.disks[2].path, at + "/layer"},
		{"-t", "overlay", "-o", "lowerdir=/tmp/lower,upperdir=/tmp/layer/upper,workdir=/tmp/layer/work", "root", root},
		{"-o", "loop", m.disks[1].path, root + "/scratch"},
		{"--rbind", "/dev", root + "/dev"},
		{"-t", "proc", "proc", root + "/proc"},
		{"-t", "sysfs", "sysfs", root + "/sys"},
		{"-t", "tmpfs", "tmpfs", root + "/run"},
		{"-t", "tmpfs", "tmpfs", root + "/tmp"},
	} {
		if err := os.MkdirAll(mount[len(mount)-1], 0o755); err != nil {
			return "", err
		}
		if out, err := exec.Command("mount", mount...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("mount %q: %w: %s", mount, err, out)
		}
		if err := os.MkdirAll(at+"/layer/upper", 0o755); err != nil {
			return "", err
		}
		if err := os.MkdirAll(at+"/layer/work", 0o755); err != nil {
			return "", err
		}
	}
	return root, nil
}
