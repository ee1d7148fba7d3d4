// Package qemu drives virtual machines under QEMU: the platform "kvm" with the
// host's virtualization, and "qemu-tcg", the same machine emulated. They share
// everything but the accelerator.
//
// An instance boots Debian's cloud kernel directly (no firmware menu, no boot
// loader) with an initial RAM file system that holds the agent and the few
// modules it needs. Its disks are virtio:
//
//   - The root is the golden image, opened read-only below a temporary overlay
//     (QEMU's snapshot=on). QEMU unlinks the overlay as soon as it is open, so
//     nothing is left after a crash, nothing is copied, and instances share
//     the image in the host's page cache as containers do.
//   - The scratch disk is a sparse raw file on the disk under test with ext4
//     made by the host. It has a journal, since a native program on a common
//     host writes through one too. A write thus passes the guest's file system
//     and the host's; that is the platform's cost, and cache=none keeps the
//     host's page cache out of it.
//
// Both disks are served by one iothread, so that the CPU time of I/O can be
// told from that of the vCPUs. The network is virtio over a tap on the test network's
// bridge, with vhost where the host has it.
//
// # Limits
//
// The guest's memory and number of CPUs are the shape's by construction. QEMU
// as a whole runs in a control group with the instance's CPUs, quota and
// weight, so that what the monitor spends counts against the quota, as it does
// for whoever rents the machine out. The group's memory limit is the guest's
// memory plus [vm.Allowance].
package qemu
