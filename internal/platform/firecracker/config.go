package firecracker

import (
	"tare/internal/bench"
	"tare/internal/platform/microvm"
	"tare/internal/platform/vm"
)

// config is the file of --config-file: the bodies of the API's requests, by the
// names of Firecracker's src/vmm/src/vmm_config and resources.rs.
type config struct {
	Boot    bootSource `json:"boot-source"`
	Drives  []drive    `json:"drives"`
	Machine machine    `json:"machine-config"`
	Network []network  `json:"network-interfaces"`
}

type bootSource struct {
	Kernel string `json:"kernel_image_path"`
	Initrd string `json:"initrd_path,omitempty"`
	Args   string `json:"boot_args"`
}

type drive struct {
	ID       string `json:"drive_id"`
	Path     string `json:"path_on_host"`
	Root     bool   `json:"is_root_device"` // makes it the first and names it to the kernel: the agent needs neither
	ReadOnly bool   `json:"is_read_only"`
	Cache    string `json:"cache_type"`
	Engine   string `json:"io_engine"`
}

type machine struct {
	CPUs   int    `json:"vcpu_count"`
	Memory int64  `json:"mem_size_mib"`
	Pages  string `json:"huge_pages,omitempty"`
}

type network struct {
	ID  string `json:"iface_id"`
	MAC string `json:"guest_mac"`
	Tap string `json:"host_dev_name"`
}

// Values of the file by those of the options.
var (
	caches  = map[string]string{"writeback": "Writeback", "unsafe": "Unsafe"}
	engines = map[string]string{"sync": "Sync", "io_uring": "Async"}
)

// configure describes the machine. The options are for the scratch disk, or
// the user's own: the others are alike in all variants, so that these boot alike.
func configure(m microvm.Machine) config {
	if m.Options[optTransport] == "mmio" {
		m.Guest.Bus = vm.BusMMIO
	}
	m.Guest.Restart = true
	c := config{
		Boot:    bootSource{Kernel: m.Kernel, Initrd: m.Initrd, Args: m.Cmdline(words)},
		Drives:  []drive{},
		Machine: machine{CPUs: m.CPUs, Memory: int64(m.Memory / bench.MiB)},
		Network: []network{},
	}
	if m.Options[optPages] == "huge" {
		c.Machine.Pages = "2M"
	}
	if m.Trial() {
		return c
	}
	c.Network = []network{{ID: "eth0", MAC: m.MAC, Tap: m.Tap}}
	if m.Disk != "" {
		c.Drives = []drive{{ID: "disk", Path: m.Disk, Cache: caches[m.Options[optCache]], Engine: engines[m.Options[optAIO]]}}
	}
	if m.Own {
		return c
	}
	c.Drives = []drive{ // in the order of their names in the guest
		{ID: "root", Path: m.Root, ReadOnly: true, Cache: "Unsafe", Engine: "Sync"},
		{ID: "scratch", Path: m.Scratch, Cache: caches[m.Options[optCache]], Engine: engines[m.Options[optAIO]]},
		{ID: "layer", Path: m.Layer, Cache: "Writeback", Engine: "Sync"},
	}
	return c
}
