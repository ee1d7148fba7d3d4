package survey

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

const cgroups = "/sys/fs/cgroup"

// Groups lists all control groups.
func (h Host) Groups() []string {
	var f facts
	h.walk(cgroups, 99, func(name string, info fs.FileInfo) {
		if info.IsDir() {
			f.add("cgroup", "%s", name)
		}
	})
	return f
}

// Controllers lists what each control group hands down (version 2).
func (h Host) Controllers() []string {
	var f facts
	h.walk(cgroups, 99, func(name string, info fs.FileInfo) {
		if filepath.Base(name) != "cgroup.subtree_control" {
			return
		}
		if text, ok := h.text(name); ok {
			f.add("control", "%s: %s", name, text)
		}
	})
	return f
}

// TopGroups lists the top control group and those just below it, in each hierarchy, with the contents of the files that hold settings.
// Deeper ones come and go, and so do Tare's, which are left out. While there are any, what the top group hands down is what it did before.
func (h Host) TopGroups() []string {
	var f facts
	dirs := []string{cgroups}
	for _, depth := range []string{"*", "*/*"} {
		for _, procs := range h.glob(filepath.Join(cgroups, depth, "cgroup.procs")) {
			dirs = append(dirs, filepath.Dir(procs))
		}
	}
	for _, dir := range dirs {
		if filepath.Base(dir) == bench.CgroupRoot {
			continue
		}
		if _, ok := h.text(dir + "/cgroup.procs"); !ok {
			continue // of version 1, where hierarchies are mounted
		}
		f.add("cgroup", "%s", dir)
		files, _ := os.ReadDir(h.path(dir))
		for _, file := range files {
			info, err := file.Info()
			if err != nil || file.IsDir() || !holdsSetting(file.Name(), info.Mode()) {
				continue
			}
			name := filepath.Join(dir, file.Name())
			text, ok := h.text(name)
			if note, err := h.noted(dir); file.Name() == "cgroup.subtree_control" && err == nil {
				text = note
			}
			if ok {
				f.add("control", "%s: %s", name, text)
			}
		}
	}
	return f
}

// holdsSetting says which control files hold what somebody has set. Others can be written
// to, but to begin an action or to set a count back.
func holdsSetting(name string, mode fs.FileMode) bool {
	if name == "devices.list" {
		return true
	}
	for _, no := range []string{"procs", "tasks", "threads", "usage", "peak", "pressure", "failcnt", "stat", "events", "_in_bytes.max", "state"} {
		if strings.Contains(name, no) && name != "notify_on_release" {
			return false
		}
	}
	return mode.Perm()&0o600 == 0o600
}

// noted is what the top group handed down before there were groups of Tare's in it.
func (h Host) noted(dir string) (string, error) {
	text := make([]byte, 4096)
	n, err := unix.Getxattr(h.path(filepath.Join(dir, bench.CgroupRoot)), "trusted.tare.subtree_control", text)
	if err != nil {
		return "", err
	}
	return string(bytes.TrimSpace(text[:n])), nil
}
