// Package firecracker runs virtual machines by Firecracker: a kernel, disks, a
// network device, a serial line and nothing else. It is told all of it in one file;
// its API, and the jailer around it, are not used.
package firecracker

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"tare/internal/bench"
	"tare/internal/platform/microvm"
	"tare/internal/platform/vm"
)

// The names of the options.
const (
	optCache     = "cache"
	optAIO       = "aio"
	optPages     = "pages"
	optTransport = "transport"
)

// New returns the platform. What the trial boot found out is kept in the directory state.
func New(state string) *microvm.Platform { return microvm.New(monitor(), state) }

func monitor() microvm.Monitor {
	return microvm.Monitor{
		Name:    "firecracker",
		Program: "firecracker",
		Summary: "microVMs by Firecracker with KVM",
		Install: "put firecracker into the PATH, from a release at https://github.com/firecracker-microvm/firecracker/releases",
		Banner:  "Firecracker v",
		// The first that announces its devices by ACPI, as kernels of distributions need it.
		Oldest: microvm.Version{Major: 1, Minor: 8, Text: "1.8"},
		Options: []bench.Option{
			{Name: optCache, Values: []string{"writeback", "unsafe"}, Default: "writeback",
				Doc: "the guest's flushes of the scratch disk: writeback hands them on to the host; unsafe, Firecracker's own default, ignores them"},
			{Name: optAIO, Values: []string{"sync", "io_uring"}, Default: "sync",
				Doc: "how it does the scratch disk's I/O on the host: sync, its own default, in its one thread for all devices; io_uring: by the kernel's"},
			{Name: optPages, Values: []string{"normal", "huge"}, Default: "normal",
				Doc: "the guest's memory: pages of the usual size, or huge ones set aside on the host"},
			{Name: optTransport, Values: []string{"mmio", "pci"}, Default: "mmio",
				Doc: "how the guest reaches its devices: mapped into memory, or on PCI, which Firecracker has since 1.13"},
			bench.GuestChoice(),
		},
		Caveats: []bench.Caveat{
			{Text: bench.NoDirect + ": its disk figures include the host's page cache"},
			{Text: "the guest's flushes are ignored: what it wrote durably may be lost", With: map[string]string{optCache: "unsafe"}},
		},
		// src/vmm/src/vstate/vcpu.rs; its main thread does the devices' work too.
		Threads: bench.Threads{VCPU: []string{"fc_vcpu *"}},

		Lacks:  lacks,
		Refuse: refuse,
		Argv:   argv,
	}
}

// mostCPUs is how many virtual CPUs a machine can have (docs/rpc-openapi, MachineConfiguration).
const mostCPUs = 32

// firstPCI is the first version with PCI.
var firstPCI = microvm.Version{Major: 1, Minor: 13}

// lacks are the variants that cannot run here.
func lacks(v microvm.Version) []bench.Lack {
	var a bench.Availability
	a.Lack(optTransport, "pci", needPCI(v))
	a.Lack(optAIO, "io_uring", vm.NeedURing("/"))
	a.Lack(optPages, "huge", vm.NeedAnyHuge("/"))
	return a.Lacks
}

func needPCI(v microvm.Version) error {
	if v.AtLeast(firstPCI) {
		return nil
	}
	return fmt.Errorf("transport=pci with Firecracker %s: %w%w", v.Text, bench.ErrUnavailable, bench.Hint("it has PCI since 1.13"))
}

// refuse says what Firecracker could not run.
func refuse(m microvm.Machine) error {
	huge, page := m.Options[optPages] == "huge", bench.MiB
	if huge {
		page = 2 * bench.MiB
	}
	switch {
	case m.CPUs > mostCPUs:
		return fmt.Errorf("%d CPUs: Firecracker has at most %d: %w", m.CPUs, mostCPUs, bench.ErrInvalid)
	case m.Memory%page != 0:
		return fmt.Errorf("memory %v: Firecracker takes multiples of %v: %w", m.Memory, page, bench.ErrInvalid)
	case m.Options[optTransport] == "pci" && !m.Version.AtLeast(firstPCI):
		return needPCI(m.Version)
	case huge:
		return vm.NeedHuge("/", m.Memory)
	}
	return nil
}

// words are Firecracker's own defaults for the kernel, but for those that take
// modules and the serial line away from it. The guest is power-cycled by the keyboard's
// controller: that ends Firecracker, which has no power button.
const words = "reboot=k i8042.noaux i8042.nomux i8042.dumbkbd swiotlb=noforce"

// Files of a machine, in its directory.
const (
	fileConfig = "config.json"
	fileLog    = "firecracker.log"
)

// argv writes the configuration and returns the command line. Without a file for
// its log Firecracker writes it to the serial line's output.
func argv(m microvm.Machine) ([]string, error) {
	text, err := json.MarshalIndent(configure(m), "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write configuration: %w", err)
	}
	config, log := filepath.Join(m.Dir, fileConfig), filepath.Join(m.Dir, fileLog)
	for file, content := range map[string][]byte{config: append(text, '\n'), log: nil} {
		if err := os.WriteFile(file, content, 0o644); err != nil {
			return nil, fmt.Errorf("write configuration: %w", err)
		}
	}
	argv := []string{"firecracker", "--id", m.ID, "--no-api", "--config-file", config, "--log-path", log, "--level", "Warning"}
	if m.Options[optTransport] == "pci" {
		argv = append(argv, "--enable-pci")
	}
	return argv, nil
}
