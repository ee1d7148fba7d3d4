package guest

import (
	"strings"
	"testing"
)

func TestParseDevices(t *testing.T) {
	for cmdline, want := range map[string]devices{
		"console=ttyS0 quiet":            {root: "/dev/vda"},
		"tare.root=/dev/sda tare.ip=x\n": {root: "/dev/sda"},
		"tare.root=/dev/ubda tare.scratch=/dev/ubdb tare.port=/dev/ttyS0": {"/dev/ubda", "/dev/ubdb", "", "/dev/ttyS0"},
		"tare.bus=ide tare.scratch=/dev/sda":                              {"/dev/vda", "/dev/sda", "ide", ""},
	} {
		if got, err := parseDevices(cmdline); got != want || err != nil {
			t.Errorf("%q: %+v, %v; want %+v", cmdline, got, err, want)
		}
	}
	for _, word := range []string{"tare.root=", "tare.root=vda", "tare.scratch=/etc/passwd", "tare.port=/dev/../x", "tare.port"} {
		if d, err := parseDevices("quiet " + word); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%q: %+v, %v", word, d, err)
		}
	}
}

func FuzzParseDevices(f *testing.F) {
	f.Add("quiet tare.root=/dev/ubda tare.port=/dev/ttyS0")
	f.Fuzz(func(t *testing.T, cmdline string) {
		d, err := parseDevices(cmdline)
		if err == nil && (!strings.HasPrefix(d.root, "/dev/") || d.port != "" && !strings.HasPrefix(d.port, "/dev/")) {
			t.Errorf("%q gives %+v", cmdline, d)
		}
	})
}
