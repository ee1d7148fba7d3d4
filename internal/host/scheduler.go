package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// schedulers returns the I/O schedulers of the disk under dir.
func schedulers(root, dir string) bench.Control {
	file, err := schedulerFile(root, dir)
	if err != nil {
		return bench.Control{Why: "no I/O scheduler can be set: " + err.Error()}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return bench.Control{Why: err.Error()}
	}
	return bench.Control{Values: strings.Fields(strings.NewReplacer("[", "", "]", "").Replace(string(text)))}
}

// schedulerFile returns the scheduler file of the disk under dir.
func schedulerFile(root, dir string) (string, error) {
	dir = filepath.Join(root, dir)
	var st unix.Stat_t
	if err := unix.Stat(standing(dir), &st); err != nil {
		return "", fmt.Errorf("find the disk under %s: %w", dir, err)
	}
	number := fmt.Sprintf("%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev))
	device, err := filepath.EvalSymlinks(filepath.Join(root, "sys/dev/block", number))
	if err != nil {
		return "", fmt.Errorf("%s is on no disk of its own", dir)
	}
	if _, err := os.Stat(filepath.Join(device, "partition")); err == nil {
		device = filepath.Dir(device)
	}
	file := filepath.Join(root, "sys/block", filepath.Base(device), "queue/scheduler")
	if _, err := os.Stat(file); err != nil {
		return "", fmt.Errorf("%s has none", filepath.Base(device))
	}
	return file, nil
}
