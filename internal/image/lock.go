package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/state"
)

// lock takes the store's lock, waiting for a build that holds it. The kernel
// gives it back when its holder dies, however that happens.
func (s *Store) lock(ctx context.Context) (unlock func(), err error) {
	if _, err := state.Make(s.Dir); err != nil {
		return nil, fmt.Errorf("lock images: %w", err)
	}
	if err := os.MkdirAll(s.images(), state.Mode); err != nil {
		return nil, fmt.Errorf("lock images: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(s.images(), ".lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock images: %w", err)
	}
	for told := false; ; {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w%w", f.Name(), err, noLocks)
		}
		if !told {
			s.say("waiting for another tare that works on the images")
			told = true
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("lock images: %w", context.Cause(ctx))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// lockFile is whose lock holds an image against removal.
const lockFile = "lock"

const noLocks = bench.Hint("the file system of the state directory must lock files: name one on a local disk by --state DIR or TARE_STATE")

// hold takes the lock of the image in dir, shared or not, without waiting;
// closing the file releases it. It is that of a file open for writing: a directory
// cannot be locked on NFS. Images of earlier versions have no such file yet.
func hold(dir string, how int) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
	if err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, err
	}
	return nil, fmt.Errorf("lock %s: %w%w", f.Name(), err, noLocks)
}
