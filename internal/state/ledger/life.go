package ledger

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// lifeName is the file of which each process that makes things has one byte locked.
const lifeName = "life.lock"

// holdLife locks a byte of the state directory's file for as long as this
// process lives, and returns which. The kernel gives the lock back at the death
// of the process, whatever PID namespace, or machine on a shared file system,
// asks for it. No child inherits the descriptor, and nothing in this process
// closes it: what was made outlives the [Ledger] that knew of it.
func holdLife(dir string) (at int64, err error) {
	path := filepath.Join(dir, lifeName)
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return 0, fmt.Errorf("lock %s: %w", path, err)
	}
	for range 8 { // a byte that another has is as good as impossible
		at = 1 + rand.Int64N(math.MaxInt64-1)
		err = unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, oneByte(at))
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		unix.Close(fd)
		return 0, fmt.Errorf("lock %s: %w%w", path, err, noLocks)
	}
	return at, nil
}

const noLocks = bench.Hint("the file system of the state directory must lock files: name one on a local disk by --state DIR or TARE_STATE")

// lifeHeld reports whether some process holds the lock of the byte.
func lifeHeld(dir string, at int64) (bool, error) {
	f, err := os.OpenFile(filepath.Join(dir, lifeName), os.O_RDWR|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look who lives: %w", err)
	}
	defer f.Close()
	l := oneByte(at)
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, l); err != nil {
		return false, fmt.Errorf("look who lives: %s: %w", f.Name(), err)
	}
	return l.Type != unix.F_UNLCK, nil
}

func oneByte(at int64) *unix.Flock_t {
	return &unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: at, Len: 1}
}
