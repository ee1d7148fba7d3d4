// Package survey lists what is on a host, line by line, so that it can be compared before and after. What belongs to namespaces (mounts,
// processes, network, the trees in them) is that of the process that asks: whoever wants to see all there is, and only their own, asks in
// namespaces of their own. What belongs to the machine (control groups, loop devices, swap, modules, settings) is shared with everybody.
package survey

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Scope says where to look.
type Scope struct {
	// Trees are listed to the depth given for each; 0 is the directory alone.
	Trees map[string]int
	// Marks are parts of names by which things of the machine are known, such as a run's; see Alone.
	Marks []string
	// Alone says that nobody else is at work on the machine: what of it has no mark is listed, too.
	Alone bool
}

// Usual are trees in which programs that run instances keep things, beside those in namespaces of their own.
var Usual = map[string]int{
	"/run": 9, "/tmp": 9, "/dev/shm": 9,
	"/etc/docker": 9, "/etc/containerd": 9, "/etc/containers": 9, "/etc/cni": 9, "/etc/libvirt": 9, "/etc/lxc": 9, "/etc/subuid": 0,
	"/etc/resolv.conf": 0, "/etc/hosts": 0, "/var/lib/docker": 9, "/var/lib/containerd": 9, "/var/lib/containers": 9, "/var/lib/cni": 9,
	"/var/lib/libvirt": 9, "/var/lib/lxc": 9, "/var/lib/machines": 2, "/var/cache/libvirt": 9, "/var/log/libvirt": 9, "/var/log/lxc": 9,
	"/opt/containerd": 9, "/opt/cni": 9, "/root/.docker": 9, "/root/.config/containers": 9, "/root/.local/share/containers": 9,
	"/root/.cache/libvirt": 9, "/root/.cache/lxc": 9,
}

// Without returns what of a is not in b.
func Without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool {
		_, found := slices.BinarySearch(b, s)
		return found
	})
}

// Take lists what there is, sorted. What cannot be asked here, for want of a program or a file, is not in it.
func (s Scope) Take() []string {
	var facts []string
	add := func(kind, format string, args ...any) { facts = append(facts, kind+" "+fmt.Sprintf(format, args...)) }
	// ours says whether a thing of the machine is to be listed.
	ours := func(name string) bool {
		return s.Alone || slices.ContainsFunc(s.Marks, func(m string) bool { return strings.Contains(name, m) })
	}
	s.processes(add)
	network(add)
	sockets(add)
	for line := range lines("/proc/self/mountinfo") {
		if f := strings.Fields(line); len(f) > 4 {
			add("mount", "%s", strings.Join(f[3:], " "))
		}
	}
	for tree, depth := range s.Trees {
		walk(tree, depth, func(path string, info fs.FileInfo) { add("file", "%s %v", path, info.Mode()) })
	}
	for _, kind := range []string{"shm", "sem", "msg"} {
		for line := range lines("/proc/sysvipc/" + kind) {
			if f := strings.Fields(line); len(f) > 1 && f[0] != "key" {
				add("ipc", "%s %s", kind, f[0])
			}
		}
	}
	for _, root := range []string{"/proc/sys/net", "/proc/sys/user"} {
		walk(root, 9, func(path string, info fs.FileInfo) { setting(add, "sysctl", path) })
	}
	for line := range lines("/proc/swaps") {
		if name, _, _ := strings.Cut(line, " "); ours(name) && name != "Filename" {
			add("swap", "%s", name)
		}
	}
	each("/sys/block/loop*/loop/backing_file", func(path string) {
		for backing := range lines(path) {
			if ours(backing) {
				add("loop", "%s %s", strings.Split(path, "/")[3], backing)
			}
		}
	})
	walk("/sys/fs/cgroup", 99, func(path string, info fs.FileInfo) {
		if info.IsDir() && ours(path) {
			add("cgroup", "%s", path)
		}
	})
	if s.Alone {
		machine(add)
	}
	slices.Sort(facts)
	return facts
}

// machine lists what everybody on it shares.
func machine(add func(kind, format string, args ...any)) {
	for line := range lines("/proc/modules") {
		add("module", "%s", strings.Fields(line)[0])
	}
	for _, root := range []string{"/proc/sys/vm", "/proc/sys/fs/inotify"} {
		walk(root, 9, func(path string, info fs.FileInfo) { setting(add, "sysctl", path) })
	}
	for _, pattern := range []string{"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
		"/sys/kernel/mm/ksm/run", "/sys/kernel/mm/transparent_hugepage/enabled", "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor",
		"/sys/block/*/queue/scheduler"} {
		each(pattern, func(path string) { setting(add, "setting", path) })
	}
	walk("/sys/fs/cgroup", 99, func(path string, info fs.FileInfo) {
		if filepath.Base(path) == "cgroup.subtree_control" {
			setting(add, "setting", path)
		}
	})
	commands(add, "unit", "systemctl list-units --all --plain --no-legend --no-pager")
}

// processes lists all but this one, its parents and their children that only look.
func (s Scope) processes(add func(kind, format string, args ...any)) {
	mine := map[string]bool{}
	for pid := os.Getpid(); pid > 0; {
		mine[strconv.Itoa(pid)] = true
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			break
		}
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if len(fields) < 2 {
			break
		}
		if pid, err = strconv.Atoi(fields[1]); err != nil {
			break
		}
	}
	each("/proc/[0-9]*/cmdline", func(path string) {
		pid := strings.Split(path, "/")[2]
		text, err := os.ReadFile(path)
		if err != nil || mine[pid] {
			return
		}
		name := string(bytes.TrimSpace(bytes.ReplaceAll(text, []byte{0}, []byte{' '})))
		if name == "" { // a thread of the kernel's, or a zombie
			for comm := range lines("/proc/" + pid + "/comm") {
				name = "[" + comm + "]"
			}
		}
		add("process", "%s %s", pid, name)
	})
}

func network(add func(kind, format string, args ...any)) {
	commands(add, "network", "ip -o addr", "ip route show table all", "ip rule", "ip netns")
	commands(add, "link", "ip -o link")
	commands(add, "firewall", "iptables-save", "ip6tables-save", "nft list ruleset")
}

// changing is what of a command's output changes by itself.
var changing = regexp.MustCompile(`\[\d+:\d+\]|^#.*|packets \d+ bytes \d+|(valid|preferred)_lft \S+`)

// commands lists what programs print, if they are there.
func commands(add func(kind, format string, args ...any), kind string, list ...string) {
	for _, command := range list {
		argv := strings.Fields(command)
		out, err := exec.Command(argv[0], argv[1:]...).Output()
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(out)) {
			if line = strings.TrimSpace(changing.ReplaceAllString(line, "")); line != "" {
				add(kind, "%s: %s", command, line)
			}
		}
	}
}

// sockets lists who listens.
func sockets(add func(kind, format string, args ...any)) {
	for _, kind := range []string{"tcp", "tcp6", "udp", "udp6", "raw", "raw6"} {
		for line := range lines("/proc/net/" + kind) {
			const listening = "0A"
			if f := strings.Fields(line); len(f) > 3 && f[0] != "sl" && (f[3] == listening || !strings.HasPrefix(kind, "tcp")) {
				add("socket", "%s %s", kind, f[1])
			}
		}
	}
	for line := range lines("/proc/net/unix") {
		if f := strings.Fields(line); len(f) > 7 && f[0] != "Num" { // those with a name
			add("socket", "unix %s", f[7])
		}
	}
}

// setting lists what a file of the kernel's holds.
func setting(add func(kind, format string, args ...any), kind, path string) {
	if strings.HasSuffix(path, "_count") {
		return
	}
	if text, err := os.ReadFile(path); err == nil {
		add(kind, "%s: %s", path, bytes.TrimSpace(text))
	}
}

// walk visits a tree; what vanishes meanwhile, or was never there, is no fact.
func walk(root string, deep int, visit func(path string, info fs.FileInfo)) {
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil {
			visit(path, info)
		}
		if d.IsDir() && strings.Count(strings.TrimPrefix(path, root), "/") >= deep {
			return fs.SkipDir
		}
		return nil
	})
}

func each(pattern string, visit func(path string)) {
	paths, _ := filepath.Glob(pattern)
	for _, path := range paths {
		visit(path)
	}
}

// lines yields those of a file, without their ends.
func lines(path string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		text, _ := os.ReadFile(path)
		for line := range strings.Lines(string(text)) {
			if !yield(strings.TrimRight(line, "\n")) {
				return
			}
		}
	}
}
