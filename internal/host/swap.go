package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host/proc"
	"tare/internal/host/tool"
)

const (
	swapsFile = "proc/swaps"
	// swapFile is the name of our swap file.
	swapFile = "swap"
	// swapReserve is the disk space that a swap file leaves free.
	swapReserve = bench.GiB
	mkswapLimit = time.Minute
)

// swapping returns the host's free swap space and how much a file below dir could add.
func swapping(root, dir string) bench.Control {
	text, err := os.ReadFile(filepath.Join(root, swapsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return bench.Control{Why: "this kernel cannot swap (it has no /proc/swaps)"}
	}
	var spaces []proc.Swap
	if err == nil {
		spaces, err = proc.ParseSwaps(text)
	}
	if err != nil {
		return bench.Control{Why: err.Error()}
	}
	c := bench.Control{}
	for _, s := range spaces {
		c.Own += bench.Bytes(s.Size - s.Used)
	}
	c.Room, c.NoRoom = swapRoom(filepath.Join(root, dir))
	return c
}

// swapRoom returns how large a swap file below dir can be, or why there can be none.
func swapRoom(dir string) (bench.Bytes, string) {
	var st unix.Statfs_t
	if err := unix.Statfs(standing(dir), &st); err != nil {
		return 0, fmt.Sprintf("statfs %s: %v", dir, err)
	}
	const elsewhere = ": keep the state directory on ext4 or XFS, or give the host swap space of its own"
	switch st.Type {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC:
	case unix.BTRFS_SUPER_MAGIC:
		return 0, "btrfs holds no swap file that copies what is written" + elsewhere
	default:
		return 0, fmt.Sprintf("the file system under the state directory (type %#x) holds no swap file%s", st.Type, elsewhere)
	}
	free := bench.Bytes(st.Bavail)*bench.Bytes(st.Bsize) - swapReserve
	if free < bench.MiB {
		return 0, "the disk under the state directory is full"
	}
	return free, ""
}

// standing returns dir or its nearest existing ancestor.
func standing(dir string) string {
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	return dir
}

// swap makes a swap file and enables it with a higher priority than the host's own.
func (s *settings) swap(path string, size bench.Bytes) error {
	if err := s.ledger.Register(bench.KindSwap, path); err != nil {
		return err
	}
	s.undo = append(s.undo, func() error {
		err := swapOff(path)
		if err == nil {
			err = os.Remove(path)
		}
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return s.ledger.Release(bench.KindSwap, path)
		}
		return fmt.Errorf("remove the swap file: %w", err)
	})
	if err := makeSwap(path, size); err != nil {
		return fmt.Errorf("make a swap file: %w", err)
	}
	return nil
}

func makeSwap(path string, size bench.Bytes) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = unix.Fallocate(int(f.Fd()), 0, 0, int64(size)) // the kernel refuses files with holes
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("allocate %s: %w", size, err)
	}
	cmd := exec.Command("mkswap", path)
	cmd.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin")
	if err := tool.Run(context.Background(), mkswapLimit, cmd); err != nil {
		return err
	}
	return swapOn(path)
}

// preferred is the flag for the highest priority of a swap space (swapon(2)).
const preferred = 0x8000 | 0x7fff

func swapOn(path string) error {
	p, err := unix.BytePtrFromString(path)
	if err != nil {
		return err
	}
	if _, _, e := unix.Syscall(unix.SYS_SWAPON, uintptr(unsafe.Pointer(p)), preferred, 0); e != 0 {
		return fmt.Errorf("swapon: %w", e)
	}
	return nil
}

// swapOff disables a swap space. It returns nil if the path is not one.
func swapOff(path string) error {
	p, err := unix.BytePtrFromString(path)
	if err != nil {
		return err
	}
	_, _, e := unix.Syscall(unix.SYS_SWAPOFF, uintptr(unsafe.Pointer(p)), 0, 0)
	if e != 0 && e != unix.EINVAL && e != unix.ENOENT {
		return fmt.Errorf("swapoff: %w", e)
	}
	return nil
}
