package qemu

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

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
