package meter

import (
	"slices"

	"golang.org/x/sys/unix"
)

// kcmpVM is KCMP_VM of the kernel's include/uapi/linux/kcmp.h.
const kcmpVM = 1

// distinct leaves of processes that share one memory (clone with CLONE_VM, as
// user-mode Linux does) a single one: each would report all of it. Where
// the kernel does not compare (kcmp(2) needs CONFIG_KCMP) all are kept.
func distinct(pids []int) []int {
	pids = slices.Clone(pids)
	// kcmp gives an order, the same for all processes until the next boot.
	slices.SortFunc(pids, order)
	return slices.CompactFunc(pids, func(a, b int) bool { return order(a, b) == 0 })
}

// order compares the memories of two processes. One that has ended, or may not be
// looked at, is like no other.
func order(a, b int) int {
	if a == b {
		return 0
	}
	r, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(a), uintptr(b), kcmpVM, 0, 0, 0)
	switch {
	case errno != 0 || r > 2:
		return a - b
	case r == 1:
		return -1
	case r == 2:
		return 1
	}
	return 0
}
