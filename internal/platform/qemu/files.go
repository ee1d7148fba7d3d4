package qemu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"tare/internal/bench"
)

// makeScratch makes a sparse file with an empty ext4. Since every block of it
// reads as zero, neither inode tables nor journal are written out, and the
// guest's kernel has nothing left to initialize in the background
// (mke2fs(8), -E lazy_journal_init and discard).
func makeScratch(ctx context.Context, path string, size bench.Bytes) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("scratch disk: %w", err)
	}
	if err := errors.Join(f.Truncate(int64(size)), f.Close()); err != nil {
		return fmt.Errorf("scratch disk: %w", err)
	}
	_, err = exec.CommandContext(ctx, "mkfs.ext4", "-q", "-F", "-L", "scratch", "-E", "lazy_journal_init=1", path).Output()
	if err != nil {
		return fmt.Errorf("scratch disk: mkfs.ext4 %s: %w", path, exitError(err))
	}
	return nil
}

// removeFiles removes those of the files in dir that are there.
func removeFiles(dir string, names ...string) error {
	var errs []error
	for _, name := range names {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// tail returns the last n bytes of a file, from the start of a line if possible.
func tail(path string, n int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	skip := max(info.Size()-n, 0)
	data, err := io.ReadAll(io.NewSectionReader(f, skip, n))
	text := string(data)
	if _, rest, ok := strings.Cut(text, "\n"); ok && skip > 0 {
		text = rest
	}
	return strings.TrimSpace(text), err
}

// vhostThreads returns the kernel's own processes that move packets for the
// monitor with that pid. They are named after it; since Linux 6.4 they are
// threads of the monitor instead and not found here (kernel/vhost_task.c).
func vhostThreads(proc string, pid int) ([]int, error) {
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil, err
	}
	want := "vhost-" + strconv.Itoa(pid)
	var list []int
	for _, e := range entries {
		p, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		comm, err := os.ReadFile(filepath.Join(proc, e.Name(), "comm"))
		if err == nil && strings.TrimSpace(string(comm)) == want {
			list = append(list, p)
		}
	}
	return list, nil
}
