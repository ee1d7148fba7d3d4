package site

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/bench/figure"
	"tare/internal/image"
	"tare/internal/platform/all"
	"tare/internal/state/cache"
	"tare/internal/state/ledger"
)

// Claim makes this process the only one that measures on the host, since two
// runs at once would measure each other, and removes what runs that were killed
// have left in the state directory, which would be in the way. The claim ends
// with the process at the latest.
func (s *Site) Claim(ctx context.Context, run string, wait bool) (release func(), err error) {
	if err := s.Make(); err != nil {
		return nil, err
	}
	release, err = s.Hold(ctx, run, wait)
	if err != nil {
		return nil, err
	}
	left := map[string]int{}
	err = s.Cleaner().Clean(ctx, func(r ledger.Removed) {
		switch {
		case r.Left != "":
			left[r.Left]++
		case r.Err == nil:
			fmt.Fprintf(s.Notes, "removed what run %s had left: %s %s\n", r.Run, r.Kind, r.Name)
		}
	})
	for _, why := range slices.Sorted(maps.Keys(left)) {
		fmt.Fprintf(s.Notes, "left alone: %s %s\n", figure.Count(left[why], "thing"), why)
	}
	if err != nil {
		release()
		return nil, fmt.Errorf("remove what an earlier run has left: %w%w", err, bench.Hint("tare clean"))
	}
	return release, nil
}

// holder is who measures, for those who would like to as well.
type holder struct {
	PID   int    `json:"pid"`
	Run   string `json:"run"`
	State string `json:"state"`
	Since string `json:"since"` // RFC 3339
}

// cleaner is in the place of a run while tare clean --all holds the host.
const cleaner = "clean"

func (h holder) String() string {
	switch {
	case h.PID == 0:
		return "" // it has not said yet
	case h.Run == cleaner:
		return fmt.Sprintf(" (process %d, state directory %s, since %s)", h.PID, h.State, h.Since)
	}
	return fmt.Sprintf(" (run %s of process %d, state directory %s, since %s)", h.Run, h.PID, h.State, h.Since)
}

// busy is that somebody else has claimed the host.
type busy struct{ by holder }

func (b *busy) Error() string {
	if b.by.Run == cleaner {
		return fmt.Sprintf("tare clean --all is removing what is kept on this host%v: what a run needs would be gone", b.by)
	}
	return fmt.Sprintf("another run is measuring on this host%v: two would measure each other", b.by)
}

// hostLock is the file that the one who measures holds, whatever its state
// directory. $TARE_LOCK is another, for tests of the program, whose runs are there
// to be seen working and not to be believed.
func hostLock() string {
	if path := os.Getenv("TARE_LOCK"); path != "" {
		return path
	}
	return filepath.Join(bench.RuntimeDir, "measure.lock")
}

// Hold takes the host's lock. If another process has it that is an error, or it
// is waited for. While a command of several runs holds it, its runs need not.
func (s *Site) Hold(ctx context.Context, run string, wait bool) (release func(), err error) {
	if s.holds {
		return func() {}, nil
	}
	if err := os.MkdirAll(filepath.Dir(hostLock()), 0o755); err != nil {
		return nil, fmt.Errorf("claim the host: %w", err)
	}
	f, err := os.OpenFile(hostLock(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("claim the host: %w", err)
	}
	if err := s.lock(ctx, f, wait); err != nil {
		f.Close()
		return nil, err
	}
	text, err := json.Marshal(holder{os.Getpid(), run, s.Dir, time.Now().Format(time.RFC3339)})
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt(append(text, '\n'), 0)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("claim the host: %w", err)
	}
	s.holds = true
	return func() {
		s.holds = false
		_ = f.Truncate(0) // the lock counts, not what it says
		f.Close()
	}, nil
}

// lockRetry is how long to wait before another try of the lock.
const lockRetry = 200 * time.Millisecond

func (s *Site) lock(ctx context.Context, f *os.File, wait bool) error {
	for told := false; ; told = true {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("claim the host: lock %s: %w", f.Name(), err)
		}
		var by holder
		if text, err := os.ReadFile(f.Name()); err == nil {
			_ = json.Unmarshal(text, &by) // whoever holds it may be just writing
		}
		if !wait {
			stop := "stop it with Ctrl-C"
			if by.PID != 0 {
				stop = fmt.Sprintf("stop it: kill -INT %d", by.PID)
			}
			return fmt.Errorf("%w%w", &busy{by}, bench.Hint("wait until it ends, as --wait does, or "+stop))
		}
		if !told {
			what := "another run on this host"
			if by.Run == cleaner {
				what = "tare clean --all"
			}
			fmt.Fprintf(s.Notes, "waiting for %s to end%v\n", what, by)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("stopped while another run was measuring: %w", context.Cause(ctx))
		case <-time.After(lockRetry):
		}
	}
}

// RemoveKept removes what is kept for the next run, and reports each thing.
func (s *Site) RemoveKept(ctx context.Context, report func(kind, name string, size bench.Bytes, err error)) error {
	if _, err := os.Stat(s.Dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	release, err := s.Claim(ctx, cleaner, false) // no run may begin meanwhile
	var held *busy
	switch {
	case errors.As(err, &held) && held.by.Run == cleaner:
		return fmt.Errorf("another tare clean --all is at work on this host%v%w", held.by, bench.Hint("wait until it has ended"))
	case errors.As(err, &held):
		return fmt.Errorf("what is kept for the next run stays: a run is measuring on this host%v and may need it%w", held.by,
			bench.Hint("try again when it has ended; tare clean without --all can be run beside it"))
	case err != nil:
		return err
	}
	defer release()
	led, err := ledger.Open(s.Dir, "image")
	if err != nil {
		return err
	}
	store := s.Images(image.New, led)
	images, err := store.List()
	if err != nil {
		return err
	}
	var errs []error
	for _, i := range images {
		_, err := store.Remove(ctx, i.Recipe)
		report("image", cmp.Or(i.Digest, i.Recipe), i.Size, err)
		errs = append(errs, err)
	}
	things, err := cache.List(s.Dir, all.Platforms(s.Dir))
	errs = append(errs, err)
	for _, t := range things {
		err := cache.Remove(s.Dir, t)
		report("kept", t.Name, t.Size, err)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
