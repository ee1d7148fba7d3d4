package xen

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tare/internal/bench"
)

// processes finds those of the host that run one of the programs.
func processes(programs []string) ([]bench.Process, error) {
	files, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		return nil, fmt.Errorf("find daemons: %w", err)
	}
	var list []bench.Process
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it ended meanwhile
		}
		name := strings.TrimSpace(string(text))
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && slices.Contains(programs, name) {
			list = append(list, bench.Process{PID: pid, Part: name})
		}
	}
	return list, nil
}
