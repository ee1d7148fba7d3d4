package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/statedir"
)

// lock takes the store's lock, waiting for a build that holds it. The kernel
// gives it back when its holder dies, however that happens.
func (s *Store) lock(ctx context.Context) (unlock func(), err error) {
	if _, err := statedir.Make(s.Dir); err != nil {
		return nil, fmt.Errorf("lock images: %w", err)
	}
	if err := os.MkdirAll(s.images(), statedir.Mode); err != nil {
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
			return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
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
