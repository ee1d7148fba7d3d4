package vm

import (
	"context"
	"errors"
	"fmt"
	"os"

	"tare/internal/bench"
	"tare/internal/platform/launch"
)

// Scratch makes a sparse file with an empty ext4. Since every block of it
// reads as zero, neither inode tables nor journal are written out, and the
// guest's kernel has nothing left to initialize in the background
// (mke2fs(8), -E lazy_journal_init and discard).
func Scratch(ctx context.Context, path string, size bench.Bytes) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("scratch disk: %w", err)
	}
	if err := errors.Join(f.Truncate(int64(size)), f.Close()); err != nil {
		return fmt.Errorf("scratch disk: %w", err)
	}
	if _, err := launch.Output(ctx, "mkfs.ext4", "-q", "-F", "-L", "scratch", "-E", "lazy_journal_init=1", path); err != nil {
		return fmt.Errorf("scratch disk: %w", err)
	}
	return nil
}
