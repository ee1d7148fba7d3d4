package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
)

// firecrackerConfig has the fields of Firecracker 1.12 that are not optional, and
// those it may be told; another is an error, as it is there (deny_unknown_fields).
type firecrackerConfig struct {
	Boot *struct {
		Kernel string `json:"kernel_image_path"`
		Initrd string `json:"initrd_path"`
		Args   string `json:"boot_args"`
	} `json:"boot-source"`
	Drives *[]struct {
		ID       string `json:"drive_id"`
		PartUUID string `json:"partuuid"`
		Root     *bool  `json:"is_root_device"`
		ReadOnly bool   `json:"is_read_only"`
		Path     string `json:"path_on_host"`
		Cache    string `json:"cache_type"`
		Engine   string `json:"io_engine"`
	} `json:"drives"`
	Machine struct {
		CPUs   int    `json:"vcpu_count"`
		Memory int64  `json:"mem_size_mib"`
		SMT    bool   `json:"smt"`
		Track  bool   `json:"track_dirty_pages"`
		Pages  string `json:"huge_pages"`
	} `json:"machine-config"`
	Network []struct {
		ID  string `json:"iface_id"`
		Tap string `json:"host_dev_name"`
		MAC string `json:"guest_mac"`
	} `json:"network-interfaces"`
}

func parseFirecracker(args []string) (machine, error) {
	flags := flag.NewFlagSet("firecracker", flag.ContinueOnError)
	id := flags.String("id", "anonymous-instance", "")
	noAPI := flags.Bool("no-api", false, "")
	file := flags.String("config-file", "", "")
	log := flags.String("log-path", "", "")
	flags.String("level", "", "")
	if err := flags.Parse(args); err != nil {
		return machine{}, err
	}
	if !*noAPI || *file == "" || flags.NArg() > 0 || *log == "" || len(*id) > 64 {
		return machine{}, fmt.Errorf("arguments %q", args)
	}
	f, err := os.Open(*file)
	if err != nil {
		return machine{}, err
	}
	defer f.Close()
	var c firecrackerConfig
	d := json.NewDecoder(f)
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return machine{}, err
	}
	if c.Boot == nil || c.Drives == nil || c.Machine.CPUs > 32 {
		return machine{}, fmt.Errorf("configuration %+v", c)
	}
	m := machine{kernel: c.Boot.Kernel, initrd: c.Boot.Initrd, cmdline: c.Boot.Args, cpus: c.Machine.CPUs, memory: c.Machine.Memory << 20}
	for _, d := range *c.Drives {
		if d.Root == nil || d.Cache != "Unsafe" && d.Cache != "Writeback" || d.Engine != "Sync" && d.Engine != "Async" {
			return machine{}, fmt.Errorf("drive %+v", d)
		}
		m.disks = append(m.disks, disk{d.Path, d.ReadOnly})
	}
	for _, n := range c.Network {
		m.tap = n.Tap
	}
	return m, nil
}
