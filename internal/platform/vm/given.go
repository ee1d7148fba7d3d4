package vm

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
)

// CheckShape refuses what no virtual machine could be given.
func CheckShape(l bench.Launch) error {
	switch {
	case l.Shape.CPUs < 1:
		return fmt.Errorf("%d CPUs: %w", l.Shape.CPUs, bench.ErrInvalid)
	case l.Own != nil && l.Shape.Memory < minOwnMemory:
		return fmt.Errorf("memory %v: a machine needs %v: %w%w", l.Shape.Memory, minOwnMemory, bench.ErrInvalid, bench.Hint("raise shape.memory"))
	case l.Own == nil && l.Shape.Memory < minMemory:
		return fmt.Errorf("memory %v: a guest with a kernel of its own needs %v: %w%w", l.Shape.Memory, minMemory, bench.ErrInvalid, bench.Hint("raise shape.memory"))
	case l.Own == nil && l.Shape.Disk < minDisk:
		return fmt.Errorf("disk %v: a file system needs %v: %w%w", l.Shape.Disk, minDisk, bench.ErrInvalid, bench.Hint("raise shape.disk"))
	case len(l.CPUSet) == 0:
		return fmt.Errorf("no host CPU to run on: %w", bench.ErrInvalid)
	case l.NetNS != "":
		return fmt.Errorf("network namespace %s: a virtual machine can only be in the test network: %w", l.NetNS, bench.ErrInvalid)
	}
	return nil
}

// The least a guest can do with: below, its kernel has no room for its initial
// RAM file system, or mkfs for a journal.
const (
	minMemory = 128 * bench.MiB
	minDisk   = 16 * bench.MiB
	// minOwnMemory is that of a machine that boots a kernel of the user's own: QEMU's firmware takes
	// what is below 1 MiB, and Linux starts at 1 MiB.
	minOwnMemory = 4 * bench.MiB
)

// Allowance is what a monitor may need beside the guest's memory: its own heap and
// stacks, and under emulation 256 MiB of QEMU's translated code.
const Allowance = 512 * bench.MiB

// Limits are those of the monitor as a whole. The number of tasks inside is the guest
// kernel's affair; the monitor's own threads must not be counted against it.
func Limits(l bench.Launch) (lim cgroup.Limits, err error) {
	lim = cgroup.LimitsOf(l.Shape, l.CPUSet)
	lim.Memory += Allowance
	lim.MemorySoft, lim.Pids = 0, 0
	lim.Disk, err = cgroup.DiskOf(l.Shape, l.Dir)
	return lim, err
}

// GuestKeeps lists what of the shape no limit on the monitor can enforce.
func GuestKeeps(s bench.Shape) []string {
	var list []string
	if s.MemorySoft > 0 {
		list = append(list, "soft memory limit") // nothing makes the guest give memory back
	}
	if s.Pids > 0 {
		list = append(list, "pids limit")
	}
	return list
}

// TapName is the tap of a launch: a device's name has at most 15 bytes.
func TapName(id string) string {
	sum := sha256.Sum256([]byte(id))
	return "tap" + hex.EncodeToString(sum[:5])
}
