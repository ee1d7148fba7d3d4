package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// removeSwap takes a swap file of ours out of use and deletes it. What it holds
// goes back to memory, which must have room.
func removeSwap(stateDir, path string) error {
	base, rel, ok := beneath(stateDir, path)
	if !ok {
		return fmt.Errorf("outside %s and %s", stateDir, bench.RuntimeDir)
	}
	p, err := unix.BytePtrFromString(path)
	if err != nil {
		return err
	}
	_, _, e := unix.Syscall(unix.SYS_SWAPOFF, uintptr(unsafe.Pointer(p)), 0, 0)
	if e != 0 && e != unix.EINVAL && e != unix.ENOENT { // not in use, or gone
		return fmt.Errorf("swapoff: %w", e)
	}
	root, err := os.OpenRoot(base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.Remove(rel); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
