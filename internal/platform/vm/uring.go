package vm

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// NeedURing says whether the host whose files lie under root lets a monitor use
// io_uring (Documentation/admin-guide/sysctl/kernel.rst, io_uring_disabled).
func NeedURing(root string) error {
	const setting = "proc/sys/kernel/io_uring_disabled"
	text, err := os.ReadFile(filepath.Join(root, setting)) // kernels before 6.6 have none
	if err == nil && strings.TrimSpace(string(text)) == "2" {
		return fmt.Errorf("the host allows no io_uring: %w%w", bench.ErrUnavailable, bench.Hint("sysctl kernel.io_uring_disabled=0"))
	}
	// It has no parameters, so it says EFAULT where the call is known and allowed.
	if _, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, 0, 0); errno != unix.EFAULT {
		return fmt.Errorf("the kernel gives no io_uring: %w: %w%w", errno, bench.ErrUnavailable, bench.Hint("use Linux 5.1 or later, and a filter of system calls that lets io_uring_setup pass"))
	}
	return nil
}
