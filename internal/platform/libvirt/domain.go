package libvirt

import (
	"encoding/xml"
	"fmt"

	"tare/internal/bench"
	"tare/internal/platform/vm"
)

// machine is everything a domain depends on.
type machine struct {
	id, kind string // kind is kvm or qemu
	emulator string // QEMU's path
	options  map[string]string
	cpus     int
	memory   bench.Bytes

	kernel, initrd, root string // files on the host
	dir                  string // the instance's directory
	socket               string // where the agent's port connects to
	bridge, tap, mac     string
	guest                vm.Guest
}

// The parts of a domain's description used here (libvirt's "Domain XML format").
type (
	domain struct {
		XMLName  xml.Name `xml:"domain"`
		Type     string   `xml:"type,attr"`
		QEMU     string   `xml:"xmlns:qemu,attr"`
		Name     string   `xml:"name"`
		Memory   amount   `xml:"memory"`
		VCPU     int      `xml:"vcpu"`
		Threads  int      `xml:"iothreads"`
		OS       system   `xml:"os"`
		ACPI     struct{} `xml:"features>acpi"`
		CPU      cpu      `xml:"cpu"`
		PowerOff string   `xml:"on_poweroff"`
		Reboot   string   `xml:"on_reboot"`
		Crash    string   `xml:"on_crash"`
		Devices  devices  `xml:"devices"`
		Extra    extra    `xml:"qemu:commandline"`
	}
	amount struct {
		Unit string `xml:"unit,attr"`
		N    int64  `xml:",chardata"`
	}
	system struct {
		Type    osType `xml:"type"`
		Kernel  string `xml:"kernel"`
		Initrd  string `xml:"initrd"`
		Cmdline string `xml:"cmdline"`
	}
	osType struct {
		Arch    string `xml:"arch,attr"`
		Machine string `xml:"machine,attr"`
		Type    string `xml:",chardata"`
	}
	cpu struct {
		Mode     string       `xml:"mode,attr"`
		Topology topology     `xml:"topology"`
		Features []cpuFeature `xml:"feature"`
	}
	topology struct {
		Sockets int `xml:"sockets,attr"`
		Cores   int `xml:"cores,attr"`
		Threads int `xml:"threads,attr"`
	}
	cpuFeature struct {
		Policy string `xml:"policy,attr"`
		Name   string `xml:"name,attr"`
	}
	devices struct {
		Emulator    string       `xml:"emulator"`
		Disks       []disk       `xml:"disk"`
		Controllers []controller `xml:"controller"`
		Interface   nic          `xml:"interface"`
		Serial      serial       `xml:"serial"`
		Channel     channel      `xml:"channel"`
		Balloon     model        `xml:"memballoon"`
	}
	disk struct {
		Type   string     `xml:"type,attr"`
		Device string     `xml:"device,attr"`
		Driver diskDriver `xml:"driver"`
		Source file       `xml:"source"`
		Target diskTarget `xml:"target"`
		Serial string     `xml:"serial"`
	}
	diskDriver struct {
		Name   string `xml:"name,attr"`
		Type   string `xml:"type,attr"`
		Cache  string `xml:"cache,attr,omitempty"`
		IO     string `xml:"io,attr,omitempty"`
		Thread int    `xml:"iothread,attr,omitempty"`
	}
	file struct {
		File string `xml:"file,attr"`
	}
	diskTarget struct {
		Dev string `xml:"dev,attr"`
		Bus string `xml:"bus,attr"`
	}
	controller struct {
		Type   string            `xml:"type,attr"`
		Model  string            `xml:"model,attr"`
		Driver *controllerDriver `xml:"driver"`
	}
	controllerDriver struct {
		Thread int `xml:"iothread,attr"`
	}
	nic struct {
		Type   string `xml:"type,attr"`
		MAC    mac    `xml:"mac"`
		Source bridge `xml:"source"`
		Target dev    `xml:"target"`
		Model  named  `xml:"model"`
		ROM    rom    `xml:"rom"`
	}
	mac struct {
		Address string `xml:"address,attr"`
	}
	bridge struct {
		Bridge string `xml:"bridge,attr"`
	}
	dev struct {
		Dev string `xml:"dev,attr"`
	}
	named struct {
		Type string `xml:"type,attr"`
	}
	rom struct {
		Enabled string `xml:"enabled,attr"`
	}
	serial struct {
		Type   string `xml:"type,attr"`
		Source path   `xml:"source"`
	}
	path struct {
		Path string `xml:"path,attr"`
	}
	channel struct {
		Type   string        `xml:"type,attr"`
		Source channelSource `xml:"source"`
		Target channelTarget `xml:"target"`
	}
	channelSource struct {
		Mode string `xml:"mode,attr"`
		Path string `xml:"path,attr"`
	}
	channelTarget struct {
		Type string `xml:"type,attr"`
		Name string `xml:"name,attr"`
	}
	model struct {
		Model string `xml:"model,attr"`
	}
	extra struct {
		Env []env `xml:"qemu:env"`
	}
	env struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
)

// describe writes the domain. The root is thrown away with the domain; the
// process is marked as ours by its environment.
func (m *machine) describe() ([]byte, error) {
	io := "threads"
	if cache := m.options[optCache]; cache == "none" || cache == "directsync" {
		io = "native"
	}
	d := domain{
		Type: m.kind, QEMU: "http://libvirt.org/schemas/domain/qemu/1.0",
		Name: m.id, Memory: amount{"KiB", int64(m.memory / bench.KiB)}, VCPU: m.cpus, Threads: 1,
		OS: system{Type: osType{"x86_64", m.options[optMachine], "hvm"}, Kernel: m.kernel, Initrd: m.initrd,
			Cmdline: "console=ttyS0 quiet panic=-1 " + m.guest.Args()},
		CPU:      cpu{Mode: "host-passthrough", Topology: topology{1, m.cpus, 1}},
		PowerOff: "destroy", Reboot: "destroy", Crash: "destroy",
		Devices: devices{
			Emulator: m.emulator,
			Disks: []disk{
				{Type: "file", Device: "disk", Driver: diskDriver{Name: "qemu", Type: vm.Qcow2, Thread: 1},
					Source: file{m.overlay()}, Target: diskTarget{"vda", busVirtio}, Serial: "root"},
				{Type: "file", Device: "disk", Driver: diskDriver{Name: "qemu", Type: m.options[optDisk], Cache: m.options[optCache], IO: io},
					Source: file{m.scratch()}, Serial: "scratch"},
			},
			Controllers: []controller{{Type: "usb", Model: "none"}},
			Interface: nic{Type: "bridge", MAC: mac{m.mac}, Source: bridge{m.bridge}, Target: dev{m.tap},
				Model: named{"virtio"}, ROM: rom{"no"}},
			Serial:  serial{"file", path{m.console()}},
			Channel: channel{"unix", channelSource{"connect", m.socket}, channelTarget{"virtio", vm.PortName}},
			Balloon: model{"none"},
		},
		Extra: extra{[]env{{bench.ProcessMark, m.id}}},
	}
	scratch := &d.Devices.Disks[1]
	if m.options[optBus] == vm.BusSCSI {
		scratch.Target = diskTarget{"sda", "scsi"}
		d.Devices.Controllers = append(d.Devices.Controllers, controller{"scsi", "virtio-scsi", &controllerDriver{1}})
	} else {
		scratch.Target, scratch.Driver.Thread = diskTarget{"vdb", busVirtio}, 1
	}
	if m.kind == "qemu" {
		// See package qemu: this instruction's emulation kills guests.
		d.CPU.Mode, d.CPU.Features = "maximum", []cpuFeature{{"disable", "cx16"}}
	}
	text, err := xml.MarshalIndent(d, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("describe domain %s: %w", m.id, err)
	}
	return append(text, '\n'), nil
}
