package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"tare/internal/bench"
)

// Held returns the memory charged to the group and those below it, and the swap space they use.
func (g *Group) Held() (used, swapped bench.Bytes, err error) {
	if dir := g.dirs["memory"]; dir != "" {
		var both bench.Bytes
		if used, err = amount(dir, "memory.usage_in_bytes"); err == nil {
			both, err = amount(dir, "memory.memsw.usage_in_bytes")
		}
		swapped = max(0, both-used)
	} else {
		dir = g.dirs[Unified]
		if used, err = amount(dir, "memory.current"); err == nil {
			swapped, err = amount(dir, "memory.swap.current")
		}
	}
	if err != nil {
		return 0, 0, fmt.Errorf("memory of cgroup %s: %w", g.name, err)
	}
	return used, swapped, nil
}

func amount(dir, file string) (bench.Bytes, error) {
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s: %.40q is not a size", file, text)
	}
	return bench.Bytes(n), nil
}
