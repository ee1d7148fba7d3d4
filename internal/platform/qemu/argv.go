package qemu

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"tare/internal/bench"
	"tare/internal/platform/vm"
)

const program = vm.QEMU

// accel is what tells the two platforms apart.
type accel struct {
	arg     string // of -accel
	cpu     string // the CPU model the guest sees
	hostCPU string // that of a guest that runs virtual machines itself
	clock   bool   // the guest is given a clock of the host's
}

var (
	// The host's own CPU, as it is.
	accelKVM = accel{arg: "kvm", cpu: "host", hostCPU: "host", clock: true}
	// Everything the emulator can do but cmpxchg16b, with which one boot in seven of
	// a Linux 6.12 guest died under QEMU 7.2: the instruction now and then leaves an
	// address in the flags, and the kernel's allocator uses it everywhere. One thread
	// per vCPU; the buffer of translated code is bounded so that vm.Allowance covers it.
	accelTCG = accel{arg: "tcg,thread=multi,tb-size=256", cpu: "max,-cx16",
		// With AMD's virtualization, and little besides: with all the emulator offers
		// (xsave, fsgsbase) the guest hangs when it starts one of its own.
		hostCPU: "qemu64,+svm,+npt,+ssse3,+sse4.1,+sse4.2,+popcnt,-cx16"}
)

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
	tsc                  int // kHz, for a guest that cannot find out
	addr                 netip.Prefix
	gateway              netip.Addr
	host                 bench.Hosting
	own                  bool   // it boots a kernel of the user's own, without an agent
	disk                 string // that kernel's own; "" for none
	line                 string // that kernel's command line
	incoming             bool   // it waits for another's state instead of booting
}

// file is the name of one of the machine's own files.
func (m machine) file(name string) string {
	if m.incoming {
		return incoming + name
	}
	return name
}

// Files of an instance, relative to its directory, which is QEMU's working
// directory: the path of a socket must be short.
const (
	fileConsole = "console.log"
	pipeConsole = "console" // QEMU writes into it, we from it into the file
	fileAgent   = "agent.sock"
	fileMonitor = "qmp.sock"
)

// incoming is what the files of a machine begin with that takes over another's
// state; its disks are those of the other.
const incoming = "in-"

// argv is the command line, to be run in the instance's directory. The root is
// the golden image, which nobody writes to: it is not locked, since another
// platform's lock on it (User-mode Linux takes one) would keep QEMU from reading.
// The agent's and the monitor's sockets must be listening in the directory: since
// QEMU is the one to connect, the agent's port is open before the guest runs its
// first instruction.
func (m machine) argv() []string {
	argv := []string{program,
		"-name", m.id + ",debug-threads=on",
		"-accel", m.accel.arg,
		"-cpu", m.cpu(),
	}
	argv = append(argv, m.board()...)
	argv = append(argv,
		"-smp", fmt.Sprintf("cpus=%d,sockets=1,cores=%d,threads=1", m.cpus, m.cpus),
		"-m", "size="+m.memoryK(),
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-chardev", "file,id=console,path="+m.file(pipeConsole), "-serial", "chardev:console",
		"-chardev", "socket,id=monitor,path="+m.file(fileMonitor), "-mon", "chardev=monitor,mode=control")
	if m.own {
		return slices.Concat(argv, m.ownDisk(), m.network(), m.ownBoot())
	}
	argv = append(argv,
		"-object", "iothread,id=io0",
		"-drive", "if=none,id=root,"+m.rootDrive(),
		"-device", "virtio-blk-pci,drive=root,iothread=io0,serial=root")
	argv = append(argv, m.scratch()...)
	argv = append(argv, m.network()...)
	argv = append(argv,
		"-chardev", "socket,id=agent,path="+m.file(fileAgent),
		"-device", "virtio-serial-pci", "-device", "virtserialport,chardev=agent,name="+vm.PortName)
	if m.options[optBalloon] == "yes" {
		argv = append(argv, "-device", "virtio-balloon-pci,id=balloon,deflate-on-oom=on,free-page-reporting=on")
	}
	argv = append(argv, m.boot()...)
	if m.incoming {
		argv = append(argv, "-incoming", "defer")
	}
	return append(argv, m.hosting()...)
}

// boot is the kernel with its command line.
func (m machine) boot() []string {
	line := "quiet panic=-1 "
	if m.tsc > 0 {
		// Beside the ticks of a busy emulator, which get lost, the kernel would hold the TSC for unstable.
		line += fmt.Sprintf("tsc=reliable tsc_early_khz=%d ", m.tsc)
	}
	line += m.guest().Args() + m.hostArgs()
	if m.host.Hypervisor != "" {
		return m.hypervisor(line)
	}
	return []string{"-kernel", m.kernel, "-initrd", m.initrd, "-append", "console=ttyS0 " + line}
}

// ownDisk is the disk of a kernel of the user's own. What is written to it goes into a file without a
// name in the instance's directory, so that every launch begins with the same content.
func (m machine) ownDisk() []string {
	if m.disk == "" {
		return nil
	}
	return []string{
		"-object", "iothread,id=io0",
		"-drive", "if=none,id=disk," + shared(m.disk),
		"-device", "virtio-blk-pci,drive=disk,iothread=io0"}
}

// ownBoot is a kernel of the user's own with nothing but what the user says.
func (m machine) ownBoot() []string {
	argv := []string{"-kernel", m.kernel}
	if m.initrd != "" {
		argv = append(argv, "-initrd", m.initrd)
	}
	if m.line != "" {
		argv = append(argv, "-append", m.line)
	}
	return argv
}

func (m machine) memoryK() string { return strconv.FormatInt(int64(m.memory/bench.KiB), 10) + "K" }

// board is the machine with its memory.
func (m machine) board() []string {
	board := machineArg[m.options[optMachine]]
	if ksm := m.options[optKSM]; ksm != "auto" {
		board += ",mem-merge=" + ksm
	}
	if m.options[optPages] != pagesHuge {
		return []string{"-machine", board}
	}
	return []string{"-object", "memory-backend-memfd,id=memory,hugetlb=on,size=" + m.memoryK(), "-machine", board + ",memory-backend=memory"}
}

// scratch is the disk under test with its device.
func (m machine) scratch() []string {
	cache, aio := m.options[optCache], m.options[optAIO]
	if aio == "auto" {
		aio = "threads"
		if aroundCache(cache) {
			aio = aioNative
		}
	}
	argv := []string{"-drive", fmt.Sprintf("if=none,id=scratch,format=%s,file=%s,cache=%s,aio=%s", m.options[optDisk], vm.ScratchFile(m.options[optDisk]), cache, aio)}
	switch m.options[optBus] {
	case vm.BusSCSI:
		return append(argv, "-device", "virtio-scsi-pci,id=scsi,iothread=io0", "-device", "scsi-hd,drive=scratch,bus=scsi.0,serial=scratch")
	case vm.BusIDE:
		if m.options[optMachine] == "pc" {
			return append(argv, "-device", "ide-hd,drive=scratch,bus=ide.0,unit=0,serial=scratch")
		}
		return append(argv, "-device", "ide-hd,drive=scratch,bus=ide.0,serial=scratch")
	case vm.BusNVMe:
		return append(argv, "-device", "nvme,drive=scratch,serial=scratch")
	}
	return append(argv, "-device", "virtio-blk-pci,drive=scratch,iothread=io0,serial=scratch")
}

// scratchDevice is what the guest's kernel calls the scratch disk.
var scratchDevice = map[string]string{
	busVirtio: "/dev/vdb", vm.BusSCSI: "/dev/sda", vm.BusIDE: "/dev/sda", vm.BusNVMe: "/dev/nvme0n1",
}

func (m machine) network() []string {
	device := "virtio-net-pci,netdev=net,romfile=,mac="
	if nic := m.options[optNIC]; nic != nicVirtio {
		device = nic + ",netdev=net,romfile=,mac="
	}
	if m.options[optNet] == netUser {
		return []string{"-netdev", "user,id=net", "-device", device + m.mac}
	}
	return []string{
		"-netdev", "tap,id=net,ifname=" + m.tap + ",script=no,downscript=no,vhost=" + onOff(m.vhost),
		"-device", device + m.mac}
}

// guest is what the agent in the guest is told.
func (m machine) guest() vm.Guest {
	g := vm.Guest{Addr: m.addr, Gateway: m.gateway, Scratch: scratchDevice[m.options[optBus]], Systemd: m.options[optInit] == initSystemd, Balloon: m.options[optBalloon] == "yes"}
	if m.options[optNet] == netUser {
		g.Addr, g.Gateway = userAddr, userGateway
	}
	if bus := m.options[optBus]; bus != busVirtio {
		g.Bus = bus
	}
	if nic := m.options[optNIC]; nic != nicVirtio {
		g.NIC = nic
	}
	return g
}

// The guest's end of QEMU's own network and QEMU's end (qemu(1), -netdev user).
var (
	userAddr    = netip.MustParsePrefix("10.0.2.15/24")
	userGateway = netip.MustParseAddr("10.0.2.2")
)

// machineArg is -machine by the word of the option. A microvm with PCI Express
// has the same devices as q35; its virtio-mmio ones can have no iothread under
// emulation. Without ACPI it does not boot.
var machineArg = map[string]string{
	"q35":     "q35",
	"pc":      "pc",
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
