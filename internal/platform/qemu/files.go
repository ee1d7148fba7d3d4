package qemu

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"tare/internal/bench"
	"tare/internal/platform/launch"
	"tare/internal/platform/vm"
)

// makeScratch makes the scratch disk in dir, as a sparse file or in QEMU's own format.
func makeScratch(ctx context.Context, dir, format string, size bench.Bytes) error {
	raw := filepath.Join(dir, fileScratch)
	if err := vm.Scratch(ctx, raw, size); err != nil || format == diskRaw {
		return err
	}
	if _, err := launch.Output(ctx, "qemu-img", "convert", "-f", diskRaw, "-O", format, raw, filepath.Join(dir, fileQcow2)); err != nil {
		return fmt.Errorf("scratch disk: %w", err)
	}
	if err := os.Remove(raw); err != nil {
		return fmt.Errorf("scratch disk: %w", err)
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
