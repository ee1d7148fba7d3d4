package guest

import (
	"fmt"
	"path/filepath"
	"strings"
)

// devices are where the guest finds its disks and the stream to the host.
type devices struct {
	root    string
	scratch string // "" for none
	bus     string // of the disks, if its drivers are not loaded anyhow
	nic     string // the network card, if its drivers are not loaded anyhow
	port    string // a serial line, spoken to by package serial, portXen, or "" for the virtio serial port
	layer   string // for what is written to the root, which is read-only then; or ""
	init    string // "systemd" for the image's init system, "" for the agent alone
}

// parseDevices reads tare.root=, tare.scratch=, tare.layer= and tare.port= of the
// kernel's command line, each a path below /dev, tare.bus=, tare.nic= and tare.init=.
func parseDevices(cmdline string) (devices, error) {
	d := devices{root: "/dev/vda"}
	for _, word := range strings.Fields(cmdline) {
		key, value, _ := strings.Cut(word, "=")
		at := map[string]*string{"tare.root": &d.root, "tare.scratch": &d.scratch, "tare.port": &d.port,
			"tare.layer": &d.layer, "tare.bus": &d.bus, "tare.nic": &d.nic, "tare.init": &d.init}[key]
		if at == nil {
			continue
		}
		if at == &d.port && value == portXen {
			*at = value
			continue
		}
		if at == &d.init && value != "systemd" {
			return devices{}, fmt.Errorf("kernel command line: %q: not an init system that is known", word)
		}
		if at != &d.bus && at != &d.nic && at != &d.init && (filepath.Clean(value) != value || !strings.HasPrefix(value, "/dev/")) {
			return devices{}, fmt.Errorf("kernel command line: %q: not a path below /dev", word)
		}
		*at = value
	}
	return d, nil
}
