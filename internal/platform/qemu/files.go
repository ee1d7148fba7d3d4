package qemu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"tare/internal/bench"
	"tare/internal/platform/launch"
)

// makeScratch makes an empty ext4 in dir, as a sparse file or in QEMU's own
// format. Since every block of it reads as zero, neither inode tables nor journal
// are written out, and the guest's kernel has nothing left to initialize in the
// background (mke2fs(8), -E lazy_journal_init and discard).
func makeScratch(ctx context.Context, dir, format string, size bench.Bytes) error {
	raw := filepath.Join(dir, fileScratch)
	f, err := os.OpenFile(raw, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("scratch disk: %w", err)
	}
	if err := errors.Join(f.Truncate(int64(size)), f.Close()); err != nil {
		return fmt.Errorf("scratch disk: %w", err)
	}
	if _, err := output(ctx, "mkfs.ext4", "-q", "-F", "-L", "scratch", "-E", "lazy_journal_init=1", raw); err != nil {
		return fmt.Errorf("scratch disk: %w", err)
	}
	if format == diskRaw {
		return nil
	}
	if _, err := output(ctx, "qemu-img", "convert", "-f", diskRaw, "-O", format, raw, filepath.Join(dir, fileQcow2)); err != nil {
		return fmt.Errorf("scratch disk: %w", err)
	}
	if err := os.Remove(raw); err != nil {
		return fmt.Errorf("scratch disk: %w", err)
	}
	return nil
}

// output runs a program and returns what it prints; what it complains about is
// part of the error.
func output(ctx context.Context, name string, args ...string) ([]byte, error) {
	path, err := launch.Program(name)
	if err != nil {
		return nil, err
	}
	out, err := exec.CommandContext(ctx, path, args...).Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return nil, fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(failed.Stderr))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
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
