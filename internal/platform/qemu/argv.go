package qemu

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"tare/internal/bench"
)

// program is QEMU's system emulator for the machines this driver knows.
const program = "qemu-system-x86_64"

// accel is what tells the two platforms apart.
type accel struct {
	arg     string // of -accel
	cpu     string // the CPU model the guest sees
	hostCPU string // that of a guest that runs virtual machines itself
}

var (
	// The host's own CPU, as it is.
	accelKVM = accel{arg: "kvm", cpu: "host", hostCPU: "host"}
	// Everything the emulator can do but cmpxchg16b, with which one boot in seven of
	// a Linux 6.12 guest died under QEMU 7.2: the instruction now and then leaves an
	// address in the flags, and the kernel's allocator uses it everywhere. One thread
	// per vCPU; the buffer of translated code is bounded so that Allowance covers it.
	accelTCG = accel{arg: "tcg,thread=multi,tb-size=256", cpu: "max,-cx16",
		// With AMD's virtualization, and little besides: with all the emulator offers
		// (xsave, fsgsbase) the guest hangs when it starts one of its own.
		hostCPU: "qemu64,+svm,+npt,+ssse3,+sse4.1,+sse4.2,+popcnt,-cx16"}
)

// Allowance is what QEMU may need beside the guest's memory: its own heap and
// stacks, and under emulation 256 MiB of translated code.
const Allowance = 512 * bench.MiB

// machine is everything the command line depends on.
type machine struct {
	id      string
	accel   accel
	options map[string]string
	cpus    int
	memory  bench.Bytes

	kernel, initrd, root string // files on the host
	tap, mac             string
	vhost                bool
	addr                 netip.Prefix
	gateway              netip.Addr
	host                 bench.Hosting
}

// Files of an instance, relative to its directory, which is QEMU's working
// directory: the path of a socket must be short.
const (
	fileScratch = "scratch.raw"
	fileConsole = "console.log"
	fileAgent   = "agent.sock"
	fileMonitor = "qmp.sock"
)

// argv is the command line, to be run in the instance's directory. The agent's
// and the monitor's sockets must be listening there: since QEMU is the one to
// connect, the agent's port is open before the guest runs its first instruction.
func (m machine) argv() []string {
	cpu := m.accel.cpu
	if m.host.Virtualization {
		cpu = m.accel.hostCPU
	}
	disk := "cache=" + m.options[optCache] + ",aio=" + m.options[optAIO]
	return slices.Concat([]string{program,
		"-name", m.id + ",debug-threads=on",
		"-accel", m.accel.arg,
		"-cpu", cpu,
		"-machine", machineArg[m.options[optMachine]],
		"-smp", fmt.Sprintf("cpus=%d,sockets=1,cores=%d,threads=1", m.cpus, m.cpus),
		"-m", "size=" + strconv.FormatInt(int64(m.memory/bench.KiB), 10) + "K",
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-chardev", "file,id=console,path=" + fileConsole, "-serial", "chardev:console",
		"-chardev", "socket,id=monitor,path=" + fileMonitor, "-mon", "chardev=monitor,mode=control",
		"-object", "iothread,id=io0",
		"-drive", "if=none,id=root,format=raw,snapshot=on,file=" + escape(m.root),
		"-device", "virtio-blk-pci,drive=root,iothread=io0,serial=root",
		"-drive", "if=none,id=scratch,format=raw,file=" + fileScratch + "," + disk,
		"-device", "virtio-blk-pci,drive=scratch,iothread=io0,serial=scratch",
		"-netdev", "tap,id=net,ifname=" + m.tap + ",script=no,downscript=no,vhost=" + onOff(m.vhost),
		"-device", "virtio-net-pci,netdev=net,romfile=,mac=" + m.mac,
		"-chardev", "socket,id=agent,path=" + fileAgent,
		"-device", "virtio-serial-pci", "-device", "virtserialport,chardev=agent,name=" + portName,
		"-kernel", m.kernel,
		"-initrd", m.initrd,
		"-append", "console=ttyS0 quiet panic=-1 tare.ip=" + m.addr.String() + " tare.gw=" + m.gateway.String(),
	}, m.hosting())
}

// hosting is what a machine that another platform runs in has beyond the rest.
// Its disks come after the root and the scratch disk. They never change, so nobody
// who opens them needs to be kept out.
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

// filePort is the socket of a further port, in the instance's directory.
func filePort(i int) string { return "port" + strconv.Itoa(i) + ".sock" }

// portName is the virtio-serial port the agent serves on.
const portName = "tare"

// machineArg is -machine by the word of the option. A microvm with PCI Express
// has the same devices as q35; its virtio-mmio ones can have no iothread under
// emulation. Without ACPI it does not boot.
var machineArg = map[string]string{
	"q35":     "q35",
	"microvm": "microvm,acpi=on,pcie=on",
}

// escape writes a value in QEMU's option syntax, where a comma separates.
func escape(value string) string {
	var out []byte
	for i := range len(value) {
		if value[i] == ',' {
			out = append(out, ',')
		}
		out = append(out, value[i])
	}
	return string(out)
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}
