// Package vm is what the drivers of virtual machines share: how the guest boots
// from the image's kernel with the agent as its first process, its scratch disk,
// and the words by which it is told what it has been given. Package guest is
// the other end.
package vm

import (
	"context"
	"fmt"
	"net/netip"
	"path/filepath"

	"tare/internal/bench"
	"tare/internal/platform/launch"
)

// PortName is the port the agent serves on.
const PortName = "tare"

// PortXen is what a guest is told whose ports are pipes to Xen's control domain (package xenpipe).
const PortXen = "xen"

// Boot returns the guest's kernel and the initial RAM file system with the
// agent, which is made at first use in the run's directory, as absolute paths.
func Boot(ctx context.Context, e bench.Env) (kernel, initrd string, err error) {
	kernel, modules, err := e.Image.Kernel(ctx)
	if err != nil {
		return "", "", fmt.Errorf("kernel of the image: %w", err)
	}
	if kernel, err = filepath.Abs(kernel); err != nil {
		return "", "", err
	}
	if initrd, err = initramfs(ctx, e.Dir, e.AgentPath, modules); err != nil {
		return "", "", err
	}
	initrd, err = filepath.Abs(initrd)
	return kernel, initrd, err
}

// Guest is what the agent in a guest is told on the kernel's command line.
type Guest struct {
	Addr    netip.Prefix
	Gateway netip.Addr
	Root    string // the device of the root's disk, if it is not /dev/vda
	Port    string // the serial line to serve on, or PortXen, if it is not the virtio-serial port
	Scratch string // the device of the scratch disk, such as /dev/vdb
	Bus     string // of the disks, if its drivers are not loaded anyhow: one of the constants
	NIC     string // the network card's driver, if neither virtio's nor the bus's: NICEmulated
	Layer   string // the device of a disk for what is written to the root, if the root's is read-only
	Restart bool   // the machine ends by a restart: it cannot be powered off
	Balloon bool   // the machine has a virtio balloon
	Systemd bool   // the image's systemd boots, and the agent is its last service
}

// Args are the words for the kernel's command line.
func (g Guest) Args() string {
	args := "tare.ip=" + g.Addr.String() + " tare.gw=" + g.Gateway.String()
	if g.Bus != "" {
		args += " tare.bus=" + g.Bus
	}
	if g.NIC != "" {
		args += " tare.nic=" + g.NIC
	}
	if g.Root != "" {
		args += " tare.root=" + g.Root
	}
	if g.Port != "" {
		args += " tare.port=" + g.Port
	}
	if g.Layer != "" {
		args += " tare.layer=" + g.Layer
	}
	if g.Restart {
		args += " tare.end=restart"
	}
	if g.Balloon {
		args += " tare.balloon=yes"
	}
	if g.Systemd {
		args += " net.ifnames=0 tare.init=systemd" // the network is up by then, and stays as it is
	}
	return args + " tare.scratch=" + g.Scratch
}

// Boots refuses the image of an instance that is to boot where it has no init system.
func Boots(ctx context.Context, image bench.Image) error {
	root, err := image.Root(ctx)
	if err != nil {
		return err
	}
	return launch.HasInit(root)
}

// Buses other than that of virtio disks on PCI for which the initial RAM file
// system has drivers. BusMMIO is of machines without PCI.
const (
	BusMMIO = "mmio"
	BusSCSI = "scsi"
	BusIDE  = "ide"
	BusNVMe = "nvme"
	BusXen  = "xen"
	// BusXenDisks is of a domain whose network card is emulated.
	BusXenDisks = "xen-disks"
)

// NICEmulated is the network card that QEMU emulates and the image's kernel has a driver for: its
// build for clouds has none for e1000, rtl8139 and the like.
const NICEmulated = "vmxnet3"
