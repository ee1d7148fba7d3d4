package qemu

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
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
		if err := h.hasHuge(memory); err != nil {
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

// hasHuge says whether enough huge pages are free (Documentation/admin-guide/mm/hugetlbpage.rst).
func (h hostFiles) hasHuge(memory bench.Bytes) error {
	f, err := os.Open(filepath.Join(string(h), "proc/meminfo"))
	if err != nil {
		return fmt.Errorf("pages=huge: %w", err)
	}
	defer f.Close()
	values := map[string]int64{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, rest, _ := strings.Cut(lines.Text(), ":")
		if name != "HugePages_Free" && name != "Hugepagesize" {
			continue
		}
		number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
		if values[name], err = strconv.ParseInt(number, 10, 64); err != nil {
			return fmt.Errorf("pages=huge: /proc/meminfo: %q: %w", lines.Text(), err)
		}
	}
	size := bench.Bytes(values["Hugepagesize"]) * bench.KiB
	if size == 0 {
		return fmt.Errorf("pages=huge: the host's kernel has no huge pages: %w", bench.ErrUnavailable)
	}
	if free := bench.Bytes(values["HugePages_Free"]) * size; free < memory {
		need := (memory + size - 1) / size
		return fmt.Errorf("pages=huge: %v of huge pages are free, %v are needed: %w%w", free, memory, bench.ErrUnavailable,
			bench.Hint(fmt.Sprintf("sysctl vm.nr_hugepages=%d, or more for several instances", need)))
	}
	return nil
}
