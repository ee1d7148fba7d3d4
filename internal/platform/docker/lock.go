package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// patience is how long to wait for a run that is just ending.
const patience = 5 * time.Second

// lock takes the data root for this run. The daemon and its children inherit
// the file, so the root stays locked until the last of them is gone, even if
// this process dies before. See flock(2).
func lock(ctx context.Context, path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock docker's data root: %w", err)
	}
	for deadline := time.Now().Add(patience); ; {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			break
		}
		if time.Now().After(deadline) {
			err = fmt.Errorf("another run uses it%w", bench.Hint(
				"wait until that run has ended; if none is running, one was killed: run `tare clean`"))
			break
		}
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-time.After(50 * time.Millisecond):
			continue
		}
		break
	}
	f.Close()
	return nil, fmt.Errorf("lock docker's data root %s: %w", path, err)
}
