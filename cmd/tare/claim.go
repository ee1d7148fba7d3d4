package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/ledger"
)

// claim makes this process the only one that measures with the state directory,
// since two runs at once would measure each other, and removes what runs that
// were killed have left, which would be in the way. The claim ends with the
// process at the latest.
func (a *app) claim(ctx context.Context) (release func(), err error) {
	if err := os.MkdirAll(a.state, 0o755); err != nil {
		return nil, fmt.Errorf("open the state directory: %w%w", err,
			bench.Hint("name a directory on a disk with some gigabytes free: --state DIR or TARE_STATE"))
	}
	f, err := os.OpenFile(filepath.Join(a.state, "measure.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the state directory: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("another run is measuring on this host: two would measure each other: %w%w", err,
			bench.Hint("wait until it ends, or stop it with Ctrl-C"))
	}
	err = ledger.Clean(ctx, a.state, false, func(r ledger.Removed) {
		if r.Err == nil {
			fmt.Fprintf(a.stderr, "removed what run %s had left: %s %s\n", r.Run, r.Kind, r.Name)
		}
	})
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("remove what an earlier run has left: %w%w", err, bench.Hint("tare clean"))
	}
	return func() { f.Close() }, nil
}
