package guest

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestParseDevices(t *testing.T) {
	for cmdline, want := range map[string]devices{
		"console=ttyS0 quiet":            {root: "/dev/vda"},
		"tare.root=/dev/sda tare.ip=x\n": {root: "/dev/sda"},
		"tare.root=/dev/ubda tare.scratch=/dev/ubdb tare.port=/dev/ttyS0": {root: "/dev/ubda", scratch: "/dev/ubdb", port: "/dev/ttyS0"},
		"tare.bus=ide tare.scratch=/dev/sda":                              {root: "/dev/vda", scratch: "/dev/sda", bus: "ide"},
		"tare.bus=xen tare.port=xen":                                      {root: "/dev/vda", bus: "xen", port: "xen"},
		"tare.nic=vmxnet3":                                                {root: "/dev/vda", nic: "vmxnet3"},
		"tare.init=systemd quiet":                                         {root: "/dev/vda", init: "systemd"},
		"tare.bus=mmio tare.layer=/dev/vdc tare.end=restart":              {root: "/dev/vda", bus: "mmio", layer: "/dev/vdc"},
	} {
		if got, err := parseDevices(cmdline); got != want || err != nil {
			t.Errorf("%q: %+v, %v; want %+v", cmdline, got, err, want)
		}
	}
	for _, word := range []string{"tare.root=", "tare.root=vda", "tare.scratch=/etc/passwd", "tare.port=/dev/../x", "tare.port", "tare.layer=vdc", "tare.init=upstart", "tare.init="} {
		if d, err := parseDevices("quiet " + word); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%q: %+v, %v", word, d, err)
		}
	}
}

func TestEnding(t *testing.T) {
	for cmdline, want := range map[string]int{
		"quiet tare.ip=10.0.0.2/24": unix.LINUX_REBOOT_CMD_POWER_OFF, "quiet tare.end=restart\n": unix.LINUX_REBOOT_CMD_RESTART,
	} {
		if got := ending(cmdline); got != want {
			t.Errorf("%q: %#x, want %#x", cmdline, got, want)
		}
	}
}

func FuzzParseDevices(f *testing.F) {
	f.Add("quiet tare.root=/dev/ubda tare.port=/dev/ttyS0")
	f.Fuzz(func(t *testing.T, cmdline string) {
		d, err := parseDevices(cmdline)
		if err == nil && (!strings.HasPrefix(d.root, "/dev/") || d.port != "" && d.port != portXen && !strings.HasPrefix(d.port, "/dev/")) {
			t.Errorf("%q gives %+v", cmdline, d)
		}
	})
}
