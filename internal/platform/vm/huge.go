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
	f, err := os.Open(filepath.Join(root, "proc/meminfo"))
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
