package vm

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"tare/internal/bench"
)

// NeedHuge says whether enough huge pages are free on the host whose files lie
// under root (Documentation/admin-guide/mm/hugetlbpage.rst).
func NeedHuge(root string, memory bench.Bytes) error {
	free, size, err := hugePages(root)
	if err != nil {
		return fmt.Errorf("pages=huge: %w", err)
	}
	if free < memory {
		need := (memory + size - 1) / size
		return fmt.Errorf("pages=huge: %v of huge pages are free, %v are needed: %w%w", free, memory, bench.ErrUnavailable,
			bench.Hint(fmt.Sprintf("sysctl vm.nr_hugepages=%d, or more for several instances", need)))
	}
	return nil
}

// NeedAnyHuge says whether the host has a huge page free.
func NeedAnyHuge(root string) error {
	free, size, err := hugePages(root)
	if err == nil && free == 0 {
		err = fmt.Errorf("no huge pages are free: %w%w", bench.ErrUnavailable,
			bench.Hint(fmt.Sprintf("sysctl vm.nr_hugepages=%d for each GiB of all guests' memory", (bench.GiB+size-1)/size)))
	}
	if err != nil {
		return fmt.Errorf("pages=huge: %w", err)
	}
	return nil
}

// hugePages returns how much memory is free in huge pages, and how large one is.
func hugePages(root string) (free, size bench.Bytes, err error) {
	f, err := os.Open(filepath.Join(root, "proc/meminfo"))
	if err != nil {
		return 0, 0, err
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
			return 0, 0, fmt.Errorf("/proc/meminfo: %q: %w", lines.Text(), err)
		}
	}
	if size = bench.Bytes(values["Hugepagesize"]) * bench.KiB; size == 0 {
		return 0, 0, fmt.Errorf("the host's kernel has no huge pages: %w%w", bench.ErrUnavailable, bench.Hint("boot a kernel built with CONFIG_HUGETLBFS"))
	}
	return bench.Bytes(values["HugePages_Free"]) * size, size, nil
}
