package firecracker

import (
	"encoding/json"
	"errors"
	"flag"
	"net/netip"
	"os"
	"path/filepath"
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

var update = flag.Bool("update", false, "write the golden files")

func aMachine() microvm.Machine {
	return microvm.Machine{
		ID: "r1-b01-t02", Dir: "/d/r1-b01-t02", Version: microvm.Version{Major: 1, Minor: 12, Text: "1.12.0"},
		Options: map[string]string{optCache: "writeback", optAIO: "sync", optPages: "normal", optTransport: "mmio"},
		CPUs:    2, CPUSet: []int{0, 1}, Memory: 512 * bench.MiB, Kernel: "/run/vmlinux", Initrd: "/run/initramfs.cpio",
		Root: "/img/root.ext4", Scratch: "/d/r1-b01-t02/scratch.raw", Layer: "/d/r1-b01-t02/layer.raw",
		Tap: "tap0123456789", MAC: "02:00:00:00:00:05",
		Guest: vm.Guest{Addr: netip.MustParsePrefix("10.99.0.5/24"), Gateway: netip.MustParseAddr("10.99.0.1"),
			Scratch: "/dev/vdb", Layer: "/dev/vdc", Port: "/dev/ttyS0"},
	}
}

func TestConfig(t *testing.T) {
	for name, change := range map[string]func(*microvm.Machine){
		"default": func(*microvm.Machine) {},
		"options": func(m *microvm.Machine) {
			m.Options = map[string]string{optCache: "unsafe", optAIO: "io_uring", optPages: "huge", optTransport: "pci"}
		},
		"own": func(m *microvm.Machine) {
			m.Own, m.Append, m.Initrd, m.Root, m.Scratch, m.Layer = true, "ip=10.99.0.5::10.99.0.1:255.255.255.0::eth0:off", "", "", "", ""
		},
		"own-disk": func(m *microvm.Machine) {
			m.Own, m.Append, m.Initrd, m.Root, m.Scratch, m.Layer, m.Disk = true, "quiet", "", "", "", "", "/d/r1-b01-t02/disk.raw"
		},
		"trial": func(m *microvm.Machine) { m.Root, m.Scratch, m.Layer, m.Tap, m.MAC = "", "", "", "", "" },
	} {
		m := aMachine()
		change(&m)
		got, err := json.MarshalIndent(configure(m), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", "config-"+name+".json")
		if *update {
			if err := os.WriteFile(golden, append(got, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), string(got)+"\n"); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestArgv(t *testing.T) {
	m := aMachine()
	m.Dir = t.TempDir()
	m.Options[optTransport] = "pci"
	got, err := argv(m)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"firecracker", "--id", "r1-b01-t02", "--no-api", "--config-file", m.Dir + "/config.json",
		"--log-path", m.Dir + "/firecracker.log", "--level", "Warning", "--enable-pci"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, file := range []string{fileConfig, fileLog} { // the latter must be there for older versions
		if _, err := os.Stat(filepath.Join(m.Dir, file)); err != nil {
			t.Error(err)
		}
	}
	m.Dir = filepath.Join(m.Dir, "none")
	if got, err := argv(m); err == nil {
		t.Errorf("wrote into a directory that is not there: %q", got)
	}
}

func TestRefuse(t *testing.T) {
	if err := refuse(aMachine()); err != nil {
		t.Error(err)
	}
	for want, c := range map[string]struct {
		change func(*microvm.Machine)
		is     error
	}{
		"33 CPUs":            {func(m *microvm.Machine) { m.CPUs = 33 }, bench.ErrInvalid},
		"multiples of 1 MiB": {func(m *microvm.Machine) { m.Memory += bench.KiB }, bench.ErrInvalid},
		"multiples of 2 MiB": {func(m *microvm.Machine) { m.Memory, m.Options[optPages] = 513*bench.MiB, "huge" }, bench.ErrInvalid},
		"transport=pci with": {func(m *microvm.Machine) { m.Options[optTransport] = "pci" }, bench.ErrUnavailable},
		"pages=huge: ":       {func(m *microvm.Machine) { m.Memory, m.Options[optPages] = 1<<40, "huge" }, bench.ErrUnavailable},
	} {
		m := aMachine()
		c.change(&m)
		if err := refuse(m); !errors.Is(err, c.is) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
