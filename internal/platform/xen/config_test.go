package xen

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/bench"
)

func given() machine {
	return machine{
		id: "run-1", kind: typePVH, shape: bench.Shape{CPUs: 2, CPUQuota: 1.5, CPUWeight: 50, Memory: 300 * bench.MiB},
		cpus: []int{1, 3}, kernel: "/k/vmlinuz", initrd: "/r/initramfs.cpio", root: "/dev/dm-0", scratch: "/dev/loop1",
		lease:  bench.Lease{Addr: netip.MustParsePrefix("10.231.0.2/16"), Gateway: netip.MustParseAddr("10.231.0.1"), MAC: "02:54:0a:e7:00:02"},
		bridge: "tarebr0", vifScript: "/r/vif",
	}
}

func TestConfig(t *testing.T) {
	want := `name = "run-1"
type = "pvh"
kernel = "/k/vmlinuz"
ramdisk = "/r/initramfs.cpio"
cmdline = "console=hvc0 quiet panic=-1 tare.ip=10.231.0.2/16 tare.gw=10.231.0.1 tare.bus=xen tare.root=/dev/xvda tare.port=xen tare.scratch=/dev/xvdb"
vcpus = 2
maxvcpus = 2
cpus = "1,3"
memory = 300
maxmem = 300
disk = [ "format=raw,access=rw,backendtype=phy,vdev=xvda,target=/dev/dm-0", "format=raw,access=rw,backendtype=phy,vdev=xvdb,target=/dev/loop1" ]
vif = [ "type=vif,mac=02:54:0a:e7:00:02,bridge=tarebr0,script=/r/vif" ]
on_poweroff = "destroy"
on_reboot = "destroy"
on_crash = "destroy"
vga = "none"
vnc = 0
nographic = 1
usb = 0
cap = 150
cpu_weight = 128
`
	got, err := given().config()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// A domain that is a host has further disks, plugged by a script of ours.
func TestConfigOfAHost(t *testing.T) {
	m := given()
	m.host, m.more, m.script = true, []string{"/dev/vda", "/dev/loop2"}, "/r/disk"
	got, err := m.config()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`cmdline = "console=hvc0 quiet panic=-1 apparmor=0 tare.ip=`,
		`"format=raw,access=ro,script=/r/disk,backendtype=phy,vdev=xvdc,target=/dev/vda", "format=raw,access=ro,script=/r/disk,backendtype=phy,vdev=xvdd,target=/dev/loop2" ]`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

// A card that QEMU emulates stays where the kernel would unplug it, and Xen's own driver is not loaded.
func TestConfigOfAnEmulatedCard(t *testing.T) {
	m := given()
	m.kind, m.nic = typeHVM, "vmxnet3"
	got, err := m.config()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`cmdline = "console=hvc0 quiet panic=-1 xen_emul_unplug=ide-disks tare.ip=10.231.0.2/16 tare.gw=10.231.0.1 tare.bus=xen-disks tare.nic=vmxnet3 tare.root=`,
		`vif = [ "type=ioemu,model=vmxnet3,mac=02:54:0a:e7:00:02,bridge=tarebr0,script=/r/vif" ]`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

func TestAffinity(t *testing.T) {
	m := given()
	m.pin = true
	if got := m.affinity(); got != `[ "1", "3" ]` {
		t.Errorf("pinned: %s", got)
	}
	m.shape.CPUs = 3 // more than there are to run on
	if got := m.affinity(); got != `[ "1", "3", "1" ]` {
		t.Errorf("three on two: %s", got)
	}
}

// A path that would end a string of the configuration is refused, not written.
func TestConfigRefuses(t *testing.T) {
	for _, path := range []string{`/a"b`, "/a\nb", `/a\b`} {
		m := given()
		m.initrd = path
		if _, err := m.config(); !errors.Is(err, bench.ErrInvalid) {
			t.Errorf("%q: %v", path, err)
		}
	}
}

func TestWeight(t *testing.T) {
	for v2, want := range map[int]int{1: 3, 50: 128, 100: 256, 10000: 25600, 100000: 65535} {
		if got := weight(v2); got != want {
			t.Errorf("weight %d is %d, want %d", v2, got, want)
		}
	}
}

// TestCheck looks at hosts that run no Xen, a domain that is not the control
// domain, and one without xenfs.
func TestCheck(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the first thing missed would be root")
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no hypervisor": {nil, "runs no Xen"},
		"another":       {map[string]string{"sys/hypervisor/type": "kvm\n"}, "runs no Xen"},
		"no xenfs":      {map[string]string{"sys/hypervisor/type": "xen\n"}, "no /proc/xen"},
		"a guest":       {map[string]string{"sys/hypervisor/type": "xen\n", "proc/xen/capabilities": "\n \n"}, "no /proc/xen"},
		"a driver domain": {map[string]string{"sys/hypervisor/type": "xen\n", "proc/xen/capabilities": "importdevices\n"},
			"not its control domain"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for file, text := range c.files {
				path := filepath.Join(root, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			_, err := check(root)
			if !errors.Is(err, bench.ErrUnavailable) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			var hint bench.Hint
			if !errors.As(err, &hint) || hint == "" {
				t.Errorf("no hint with %v", err)
			}
		})
	}
}
