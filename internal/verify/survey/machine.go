package survey

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// volatile are sysctls that change by themselves (the kernel's admin-guide/sysctl):
// counts of what is in use, random numbers, and a rate that the kernel lowers.
var volatile = regexp.MustCompile(`^(fs/(aio-nr|dentry-state|file-nr|inode-nr|inode-state|quota/.*)|` +
	`kernel/(ns_last_pid|random/.*|pty/nr|perf_event_max_sample_rate|sched_domain/.*)|.*_count)$`)

// Sysctls lists what is set below each of the keys, such as "net"; "" is all there is.
func (h Host) Sysctls(below ...string) []string {
	var f facts
	for _, key := range below {
		h.walk(filepath.Join("proc/sys", key), 99, func(name string, info fs.FileInfo) {
			key := strings.TrimPrefix(name, "/proc/sys/")
			if info.IsDir() || volatile.MatchString(key) {
				return
			}
			if text, ok := h.text(name); ok {
				f.add("sysctl", "%s: %s", key, text)
			}
		})
	}
	return f
}

// Modules lists those of the kernel that are loaded.
func (h Host) Modules() []string {
	var f facts
	for line := range h.lines("proc/modules") { // a kernel may have none
		name, _, _ := strings.Cut(line, " ")
		f.add("module", "%s", name)
	}
	return f
}

// Swaps lists swap space.
func (h Host) Swaps() []string {
	var f facts
	for line := range h.lines("proc/swaps") {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] != "Filename" {
			f.add("swap", "%s %s", fields[0], fields[1])
		}
	}
	return f
}

// Loops lists loop devices, with the files behind them.
func (h Host) Loops() []string {
	var f facts
	for _, name := range h.glob("sys/block/loop*/loop/backing_file") {
		if text, ok := h.text(name); ok {
			f.add("loop", "%s %s", strings.Split(name, "/")[3], text)
		}
	}
	return f
}

// Settings lists what is set of memory, frequencies and disks.
func (h Host) Settings() []string {
	var f facts
	for _, pattern := range []string{"sys/kernel/mm/ksm/run", "sys/kernel/mm/transparent_hugepage/*",
		"sys/devices/system/cpu/cpufreq/policy*/scaling_*", "sys/block/*/queue/scheduler"} {
		for _, name := range h.glob(pattern) {
			info, err := os.Stat(h.path(name))
			if err != nil || info.IsDir() || strings.HasSuffix(name, "_cur_freq") {
				continue
			}
			if text, ok := h.text(name); ok {
				f.add("setting", "%s: %s", name, text)
			}
		}
	}
	return f
}
