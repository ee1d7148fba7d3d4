package qemu

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tare/internal/bench"
	"tare/internal/platform/vm"
)

// hostFiles is where the host's files lie, "/" except in tests.
type hostFiles string

// allows refuses options that the host is not set up for.
func (h hostFiles) allows(o map[string]string, memory bench.Bytes) error {
	if o[optKSM] == "on" {
		if err := h.merges(); err != nil {
			return err
		}
	}
	if o[optPages] == pagesHuge {
		if err := vm.NeedHuge(string(h), memory); err != nil {
			return err
		}
	}
	return vm.NeedFormat(o[optDisk])
}

// merges says whether the host merges equal pages (Documentation/admin-guide/mm/ksm.rst).
func (h hostFiles) merges() error {
	const file = "sys/kernel/mm/ksm/run"
	text, err := os.ReadFile(filepath.Join(string(h), file))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("ksm=on: the host's kernel has no samepage merging: %w", bench.ErrUnavailable)
	}
	if err != nil {
		return fmt.Errorf("ksm=on: %w", err)
	}
	if strings.TrimSpace(string(text)) != "1" {
		return fmt.Errorf("ksm=on: the host merges no pages: %w%w", bench.ErrUnavailable, bench.Hint("echo 1 > /"+file))
	}
	return nil
}
