package qemu

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"

	"tare/internal/bench"
	"tare/internal/platform/launch"
)

// cpu is the CPU model the guest sees. With all that the emulator offers, a
// control domain dies when it starts.
func (m machine) cpu() string {
	if m.host.Virtualization || m.host.Hypervisor != "" {
		return m.accel.hostCPU
	}
	return m.accel.cpu
}

// hypervisor boots Xen with the kernel and its initial RAM file system as
// multiboot modules, the first of which it takes for the control domain's kernel
// (docs/misc/xen-command-line of Xen). That domain has one virtual CPU: the machine's are for the instances.
func (m machine) hypervisor(line string) []string {
	return []string{"-kernel", m.host.Hypervisor,
		"-append", fmt.Sprintf("console=com1 com1=115200,8n1 loglvl=warning dom0_mem=%dK,max:%[1]dK dom0_max_vcpus=1", m.host.Control/bench.KiB),
		"-initrd", escape(m.kernel) + " console=hvc0 " + escape(line) + "," + escape(m.initrd)}
}

// hosting is what a machine that another platform runs in has beyond the rest.
// Its disks never change, so nobody who opens them needs to be kept out.
func (m machine) hosting() []string {
	var args []string
	for i, file := range m.host.Disks {
		id := "more" + strconv.Itoa(i)
		args = append(args, "-drive", "if=none,id="+id+",format=raw,readonly=on,file.locking=off,file="+escape(file),
			"-device", "virtio-blk-pci,drive="+id+",iothread=io0,serial="+id)
	}
	for i, name := range m.host.Ports {
		id := "port" + strconv.Itoa(i)
		args = append(args, "-chardev", "socket,id="+id+",path="+filePort(i),
			"-device", "virtserialport,chardev="+id+",name="+name)
	}
	return args
}

// hostArgs are the kernel's in a machine that another platform runs in. Its image
// has no profiles of AppArmor, which LXC would insist on.
func (m machine) hostArgs() string {
	if len(m.host.Ports) == 0 {
		return ""
	}
	return " apparmor=0"
}

// filePort is the socket of a further port, in the instance's directory.
func filePort(i int) string { return "port" + strconv.Itoa(i) + ".sock" }

// ports are the further streams to a machine's guest.
type ports struct {
	sockets int // how many were made
	listen  []*net.UnixListener
	open    map[string]net.Conn // by name
}

// make makes the sockets in dir that QEMU connects to.
func (p *ports) make(dir string, names []string) error {
	for range names {
		p.sockets++
		ln, err := launch.Listen(dir, filePort(p.sockets-1))
		if err != nil {
			return err
		}
		p.listen = append(p.listen, ln)
	}
	return nil
}

// accept waits for QEMU on each of them.
func (i *instance) acceptPorts(ctx context.Context, names []string) error {
	i.ports.open = map[string]net.Conn{}
	for n, name := range names {
		port, err := i.accept(ctx, i.ports.listen[n])
		if err != nil {
			return fmt.Errorf("wait for port %s: %w", name, err)
		}
		i.ports.open[name] = port
	}
	return nil
}

// close lets go of sockets and streams.
func (p *ports) close() {
	for _, ln := range p.listen {
		ln.Close()
	}
	for _, port := range p.open {
		port.Close()
	}
}

// files are the sockets', in the instance's directory.
func (p *ports) files() []string {
	var names []string
	for n := range p.sockets {
		names = append(names, filePort(n))
	}
	return names
}

// Port implements [bench.Ported].
func (i *instance) Port(name string) (io.ReadWriteCloser, error) {
	if port := i.ports.open[name]; port != nil {
		return port, nil
	}
	return nil, fmt.Errorf("port %q: the machine was started without: %w", name, bench.ErrInvalid)
}
