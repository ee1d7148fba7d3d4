package cloudhypervisor

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/bench"
	"tare/internal/platform/microvm"
	"tare/internal/platform/microvm/microvmtest"
	"tare/internal/platform/vm"
)

func TestConformance(t *testing.T) { microvmtest.Conformance(t, New) }
func TestDriver(t *testing.T)      { microvmtest.Driver(t, New("")) }
func TestDies(t *testing.T)        { microvmtest.Dies(t, New("")) }
func TestOwn(t *testing.T)         { microvmtest.Own(t, New("")) }
func TestAbsent(t *testing.T)      { microvmtest.Absent(t, New(t.TempDir())) }
func TestTrial(t *testing.T)       { microvmtest.Trial(t, New) }

func aMachine() microvm.Machine {
	return microvm.Machine{
		ID: "r1-b01-t02", Dir: "/d/r1-b01-t02", Version: microvm.Version{Major: 51, Minor: 1, Text: "51.1"},
		Options: map[string]string{optCache: "none", optPages: "normal", optPin: "off"},
		CPUs:    2, CPUSet: []int{4, 7}, Memory: 512 * bench.MiB, Kernel: "/run/vmlinux", Initrd: "/run/initramfs.cpio",
		Root: "/img/root.ext4", Scratch: "/d/r1-b01-t02/scratch.raw", Layer: "/d/r1-b01-t02/layer.raw",
		Tap: "tap0123456789", MAC: "02:00:00:00:00:05",
		Guest: vm.Guest{Addr: netip.MustParsePrefix("10.99.0.5/24"), Gateway: netip.MustParseAddr("10.99.0.1"),
			Scratch: "/dev/vdb", Layer: "/dev/vdc", Port: "/dev/ttyS0"},
	}
}

func TestArgv(t *testing.T) {
	want := strings.Split(strings.ReplaceAll(`cloud-hypervisor
--cpus|boot=2,max=2
--memory|size=524288K
--kernel|/run/vmlinux
--initramfs|/run/initramfs.cpio
--cmdline|console=ttyS0 panic=-1 quiet tare.ip=10.99.0.5/24 tare.gw=10.99.0.1 tare.port=/dev/ttyS0 tare.layer=/dev/vdc tare.scratch=/dev/vdb
--console|off
--serial|socket=serial.sock
--disk|path=/img/root.ext4,readonly=on,image_type=raw|path=/d/r1-b01-t02/scratch.raw,direct=on,image_type=raw|path=/d/r1-b01-t02/layer.raw,direct=off,image_type=raw
--net|tap=tap0123456789,mac=02:00:00:00:00:05`, "\n", "|"), "|")
	got, err := argv(aMachine())
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
}

func TestArgvVariants(t *testing.T) {
	for _, c := range []struct {
		change func(*microvm.Machine)
		want   []string // words that must be there
		none   string   // and one that must not
	}{
		{func(m *microvm.Machine) { m.Options[optCache] = "writeback" }, []string{"path=/d/r1-b01-t02/scratch.raw,direct=off,image_type=raw"}, ""},
		{func(m *microvm.Machine) { m.Options[optPages] = "huge" }, []string{"size=524288K,hugepages=on"}, ""},
		{func(m *microvm.Machine) { m.Options[optPin], m.CPUs = "on", 3 }, []string{"boot=3,max=3,affinity=[0@[4],1@[7],2@[4]]"}, ""},
		{func(m *microvm.Machine) { m.Version = microvm.Version{Major: 50} },
			[]string{"path=/img/root.ext4,readonly=on", "path=/d/r1-b01-t02/scratch.raw,direct=on"}, ""},
		{func(m *microvm.Machine) { m.Own, m.Disk = true, "/d/r1-b01-t02/disk.raw" },
			[]string{"--disk", "path=/d/r1-b01-t02/disk.raw,direct=on,image_type=raw", "--net"}, "path=/d/r1-b01-t02/scratch.raw,direct=on,image_type=raw"},
		{func(m *microvm.Machine) { m.Own = true }, []string{"--net"}, "--disk"},
		{func(m *microvm.Machine) { m.Root, m.Tap = "", "" }, []string{"tty", "console=ttyS0 panic=-1"}, "--disk"},
	} {
		m := aMachine()
		c.change(&m)
		got, err := argv(m)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range c.want {
			if !slices.Contains(got, w) {
				t.Errorf("%q is missing in %q", w, got)
			}
		}
		if c.none != "" && slices.Contains(got, c.none) {
			t.Errorf("%q is in %q", c.none, got)
		}
	}
}

func TestRefuse(t *testing.T) {
	if err := refuse(aMachine()); err != nil {
		t.Error(err)
	}
	m := aMachine()
	m.Root = "/img/a,b.ext4"
	if err := refuse(m); !errors.Is(err, bench.ErrInvalid) || !strings.Contains(err.Error(), m.Root) || bench.HintOf(err) == "" {
		t.Errorf("a comma: %v", err)
	}
	m = aMachine()
	m.Memory, m.Options[optPages] = 1<<40, "huge"
	if err := refuse(m); !errors.Is(err, bench.ErrUnavailable) {
		t.Errorf("a TiB of huge pages: %v", err)
	}
}
