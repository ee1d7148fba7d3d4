package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// removeSwap takes a swap file of ours out of use and deletes it. What it holds
// goes back to memory, which must have room.
func removeSwap(stateDir, path string) error {
	at, err := placeOf(stateDir, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer at.close()
	f, err := at.file(unix.O_PATH)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	p, err := unix.BytePtrFromString(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(swapBusy); ; time.Sleep(100 * time.Millisecond) {
		_, _, e := unix.Syscall(unix.SYS_SWAPOFF, uintptr(unsafe.Pointer(p)), 0, 0)
		if e == unix.ENOMEM && time.Now().Before(deadline) {
			continue // what is in it belongs to an instance at its limit, which is about to end
		}
		if e != 0 && e != unix.EINVAL { // not in use
			return fmt.Errorf("swapoff: %w", e)
		}
		if err = at.unlink(); !errors.Is(err, unix.EPERM) || time.Now().After(deadline) {
			return err
		}
	}
}

// swapBusy is how long swap space may stay in use though nobody wants it, and a file one that cannot be deleted while
// another process, which was killed, takes it into use or out of it: the kernel then finds it neither in use nor free.
const swapBusy = 20 * time.Second
