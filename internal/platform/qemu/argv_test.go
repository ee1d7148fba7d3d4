package qemu

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/bench"
)

func defaults() map[string]string {
	m := map[string]string{}
	for _, o := range KVM("").Options() {
		m[o.Name] = o.Default
	}
	return m
}

func aMachine() machine {
	return machine{
		id: "r1-b01-t02", accel: accelKVM, options: defaults(), cpus: 2, memory: 512 * bench.MiB,
		kernel: "/img/vmlinuz", initrd: "/run/initramfs.cpio", root: "/img/disk,1.raw",
		tap: "tap0123456789", mac: "02:00:00:00:00:05",
		addr: netip.MustParsePrefix("10.99.0.5/24"), gateway: netip.MustParseAddr("10.99.0.1"),
	}
}

func TestCommandLineOfAHost(t *testing.T) {
	m := aMachine()
	plain := m.argv()
	m.accel = accelTCG
	m.host = bench.Hosting{Disks: []string{"/img/golden", "/a,b"}, Ports: []string{"x", "y"}, Virtualization: true}
	args := m.argv()
	want := strings.Fields(`
-drive if=none,id=more0,format=raw,readonly=on,file.locking=off,file=/img/golden -device virtio-blk-pci,drive=more0,iothread=io0,serial=more0
-drive if=none,id=more1,format=raw,readonly=on,file.locking=off,file=/a,,b -device virtio-blk-pci,drive=more1,iothread=io0,serial=more1
-chardev socket,id=port0,path=port0.sock -device virtserialport,chardev=port0,name=x
-chardev socket,id=port1,path=port1.sock -device virtserialport,chardev=port1,name=y`)
	if d := cmp.Diff(want, args[len(plain):]); d != "" {
		t.Error(d)
	}
	if cpu := args[slices.Index(args, "-cpu")+1]; !strings.Contains(cpu, "+svm") || !strings.Contains(cpu, "-cx16") {
		t.Errorf("a guest that runs virtual machines has the CPU %s", cpu)
	}
}

// Under a hypervisor the kernel is its first module, and its line goes with it.
func TestCommandLineUnderXen(t *testing.T) {
	m := aMachine()
	m.accel, m.initrd = accelTCG, "/run/a,b.cpio"
	m.host = bench.Hosting{Ports: []string{"x"}, Hypervisor: "/run/xen", Control: 640 * bench.MiB}
	args := m.argv()
	value := func(option string) string { return args[slices.Index(args, option)+1] }
	if k := value("-kernel"); k != "/run/xen" {
		t.Errorf("the kernel is %s", k)
	}
	want := "/img/vmlinuz console=hvc0 quiet panic=-1 tare.ip=10.99.0.5/24 tare.gw=10.99.0.1 tare.scratch=/dev/vdb apparmor=0,/run/a,,b.cpio"
	if d := cmp.Diff(want, value("-initrd")); d != "" {
		t.Error(d)
	}
	if line := value("-append"); !strings.Contains(line, "dom0_mem=655360K,max:655360K dom0_max_vcpus=1") {
		t.Errorf("the hypervisor's line is %q", line)
	}
	if cpu := value("-cpu"); strings.HasPrefix(cpu, "max") {
		t.Errorf("a control domain dies on the CPU %s", cpu)
	}
}

func TestCommandLineOfKVM(t *testing.T) {
	want := strings.Split(`qemu-system-x86_64
-name|r1-b01-t02,debug-threads=on
-accel|kvm
-cpu|host
-machine|q35
-smp|cpus=2,sockets=1,cores=2,threads=1
-m|size=524288K
-nodefaults|-no-user-config|-display|none|-no-reboot
-chardev|file,id=console,path=console|-serial|chardev:console
-chardev|socket,id=monitor,path=qmp.sock|-mon|chardev=monitor,mode=control
-object|iothread,id=io0
-drive|if=none,id=root,format=raw,snapshot=on,file.locking=off,file=/img/disk,,1.raw
-device|virtio-blk-pci,drive=root,iothread=io0,serial=root
-drive|if=none,id=scratch,format=raw,file=scratch.raw,cache=none,aio=native
-device|virtio-blk-pci,drive=scratch,iothread=io0,serial=scratch
-netdev|tap,id=net,ifname=tap0123456789,script=no,downscript=no,vhost=off
-device|virtio-net-pci,netdev=net,romfile=,mac=02:00:00:00:00:05
-chardev|socket,id=agent,path=agent.sock
-device|virtio-serial-pci|-device|virtserialport,chardev=agent,name=tare
-kernel|/img/vmlinuz
-initrd|/run/initramfs.cpio
-append|console=ttyS0 quiet panic=-1 tare.ip=10.99.0.5/24 tare.gw=10.99.0.1 tare.scratch=/dev/vdb`, "\n")
	want = strings.Split(strings.Join(want, "|"), "|")
	if d := cmp.Diff(want, aMachine().argv()); d != "" {
		t.Error(d)
	}
}

func TestCommandLineVariants(t *testing.T) {
	for _, c := range []struct {
		change func(*machine)
		want   []string // words that must be there
	}{
		{func(m *machine) { m.accel = accelTCG }, []string{"tcg,thread=multi,tb-size=256", "max,-cx16"}},
		{func(m *machine) { m.options["machine"] = "microvm" }, []string{"microvm,acpi=on,pcie=on"}},
		{func(m *machine) { m.tsc = 2596120 },
			[]string{"console=ttyS0 quiet panic=-1 tsc=reliable tsc_early_khz=2596120 tare.ip=10.99.0.5/24 tare.gw=10.99.0.1 tare.scratch=/dev/vdb"}},
		{func(m *machine) { m.options["cache"] = "writeback" },
			[]string{"if=none,id=scratch,format=raw,file=scratch.raw,cache=writeback,aio=threads"}},
		{func(m *machine) { m.options["disk"], m.options["cache"] = "qcow2", "directsync" },
			[]string{"if=none,id=scratch,format=qcow2,file=scratch.qcow2,cache=directsync,aio=native"}},
		{func(m *machine) { m.options["bus"] = "nvme" }, []string{"nvme,drive=scratch,serial=scratch",
			"console=ttyS0 quiet panic=-1 tare.ip=10.99.0.5/24 tare.gw=10.99.0.1 tare.bus=nvme tare.scratch=/dev/nvme0n1"}},
		{func(m *machine) { m.options["bus"] = "scsi" },
			[]string{"virtio-scsi-pci,id=scsi,iothread=io0", "scsi-hd,drive=scratch,bus=scsi.0,serial=scratch"}},
		{func(m *machine) { m.options["machine"], m.options["bus"] = "pc", "ide" },
			[]string{"pc", "ide-hd,drive=scratch,bus=ide.0,unit=0,serial=scratch"}},
		{func(m *machine) { m.options["net"] = "user" }, []string{"user,id=net", "virtio-net-pci,netdev=net,romfile=,mac=02:00:00:00:00:05",
			"console=ttyS0 quiet panic=-1 tare.ip=10.0.2.15/24 tare.gw=10.0.2.2 tare.scratch=/dev/vdb"}},
		{func(m *machine) { m.options["init"] = "systemd" },
			[]string{"console=ttyS0 quiet panic=-1 tare.ip=10.99.0.5/24 tare.gw=10.99.0.1 net.ifnames=0 tare.init=systemd tare.scratch=/dev/vdb"}},
		{func(m *machine) { m.options["ksm"] = "off" }, []string{"q35,mem-merge=off"}},
		{func(m *machine) { m.options["pages"] = "huge" },
			[]string{"memory-backend-memfd,id=memory,hugetlb=on,size=524288K", "q35,memory-backend=memory"}},
		{func(m *machine) { m.options["nic"] = "vmxnet3" }, []string{"vmxnet3,netdev=net,romfile=,mac=02:00:00:00:00:05",
			"console=ttyS0 quiet panic=-1 tare.ip=10.99.0.5/24 tare.gw=10.99.0.1 tare.nic=vmxnet3 tare.scratch=/dev/vdb"}},
		{func(m *machine) { m.vhost = true }, []string{"tap,id=net,ifname=tap0123456789,script=no,downscript=no,vhost=on"}},
		{func(m *machine) { m.cpus, m.memory = 1, bench.GiB+bench.KiB },
			[]string{"cpus=1,sockets=1,cores=1,threads=1", "size=1048577K"}},
	} {
		m := aMachine()
		c.change(&m)
		argv := m.argv()
		for _, w := range c.want {
			if !slices.Contains(argv, w) {
				t.Errorf("%q is missing in %q", w, argv)
			}
		}
	}
}

// The two platforms must differ in nothing but the accelerator and its CPU.
func TestPlatformsDifferInTheAcceleratorOnly(t *testing.T) {
	k, e := aMachine(), aMachine()
	e.accel = accelTCG
	a, b := k.argv(), e.argv()
	for i := range a {
		if a[i] != b[i] && a[i-1] != "-accel" && a[i-1] != "-cpu" {
			t.Errorf("%q against %q", a[i], b[i])
		}
	}
}

func TestCheckLaunch(t *testing.T) {
	good := func() bench.Launch {
		return bench.Launch{ID: "a", Options: defaults(), CPUSet: []int{0},
			Shape: bench.Shape{CPUs: 1, Memory: 256 * bench.MiB, Disk: bench.GiB}}
	}
	if err := checkLaunch(KVM("").Options(), good()); err != nil {
		t.Fatal(err)
	}
	for text, change := range map[string]func(*bench.Launch){
		"machine":              func(l *bench.Launch) { l.Options["machine"] = "amiga" },
		`cache=""`:             func(l *bench.Launch) { delete(l.Options, "cache") },
		"colour":               func(l *bench.Launch) { l.Options["colour"] = "red" },
		"aio=native with":      func(l *bench.Launch) { l.Options["aio"], l.Options["cache"] = "native", "writeback" },
		"bus=ide with":         func(l *bench.Launch) { l.Options["bus"], l.Options["machine"] = "ide", "microvm" },
		"vhost=on with":        func(l *bench.Launch) { l.Options["vhost"], l.Options["net"] = "on", "user" },
		"ksm=on with":          func(l *bench.Launch) { l.Options["ksm"], l.Options["pages"] = "on", "huge" },
		"0 CPUs":               func(l *bench.Launch) { l.Shape.CPUs = 0 },
		"memory 64 MiB":        func(l *bench.Launch) { l.Shape.Memory = 64 * bench.MiB },
		"disk 1 MiB":           func(l *bench.Launch) { l.Shape.Disk = bench.MiB },
		"no host CPU":          func(l *bench.Launch) { l.CPUSet = nil },
		"namespace /run/netns": func(l *bench.Launch) { l.NetNS = "/run/netns/x" },
	} {
		l := good()
		change(&l)
		err := checkLaunch(KVM("").Options(), l)
		if !errors.Is(err, bench.ErrInvalid) || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: got %v", text, err)
		}
	}
}
