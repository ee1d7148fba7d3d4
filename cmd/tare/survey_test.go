package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// A surveyor looks at a machine: the files below root, and what programs say.
type surveyor struct {
	root   string
	output func(argv ...string) ([]byte, error)
	state  string // the state directory of the run; what lies in others is others'
}

func thisMachine(state string) surveyor {
	return surveyor{"/", func(argv ...string) ([]byte, error) { return exec.Command(argv[0], argv[1:]...).Output() }, state}
}

// facts of a machine, a line each, with its kind first.
type facts []string

func (f *facts) add(kind, format string, args ...any) {
	*f = append(*f, kind+" "+fmt.Sprintf(format, args...))
}

// changes are what is new in after, and what is gone from before.
func changes(before, after facts) (left, gone []string) {
	return without(after, before), without(before, after)
}

// without returns what of a is not in b.
func without(a, b []string) []string {
	known := map[string]bool{}
	for _, s := range b {
		known[s] = true
	}
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return known[s] })
}

// namespaced lists what a user has in the namespaces that the machine is looked
// at from, and in files of the user's.
func (m surveyor) namespaced() (f facts) {
	m.networks(&f)
	m.sysctls(&f, "net")
	m.runtime(&f)
	m.files(&f)
	m.mounts(&f)
	slices.Sort(f)
	return f
}

// shared lists what no namespace holds apart, and the network and sysctls of the
// first one when it is called there.
func (m surveyor) shared() (f facts) {
	m.networks(&f)
	m.sysctls(&f, "")
	m.modules(&f)
	m.groups(&f)
	m.swaps(&f)
	m.settings(&f)
	m.units(&f)
	m.daemons(&f)
	slices.Sort(f)
	return f
}

func (m surveyor) path(name string) string { return filepath.Join(m.root, name) }

// text of a file, trimmed; a file that is not there, or cannot be read, is no fact.
func (m surveyor) text(name string) (string, bool) {
	text, err := os.ReadFile(m.path(name))
	return string(bytes.TrimSpace(text)), err == nil
}

func (m surveyor) walk(root string, deep int, visit func(name string, d fs.DirEntry)) {
	top := m.path(root)
	_ = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // what vanishes meanwhile, or was never there, is no fact
		}
		name := filepath.Join(root, strings.TrimPrefix(path, top))
		visit(name, d)
		if d.IsDir() && strings.Count(strings.TrimPrefix(path, top), "/") >= deep {
			return fs.SkipDir
		}
		return nil
	})
}

// others reports whether a name is of another run or test of Tare's on the machine.
func (m surveyor) others(name string) bool {
	return (strings.Contains(name, "tare") || strings.Contains(name, "/tmp/Test")) && !strings.Contains(name, m.state)
}

var counters = regexp.MustCompile(`\[\d+:\d+\]|^#.*|packets \d+ bytes \d+|(valid|preferred)_lft \S+`)

func (m surveyor) networks(f *facts) {
	for kind, commands := range map[string][]string{
		"firewall": {"iptables-save", "ip6tables-save", "nft list ruleset"},
		"network":  {"ip -o addr", "ip route show table all", "ip rule", "ip netns"},
		"link":     {"ip -o link"},
	} {
		for _, command := range commands {
			out, err := m.output(strings.Fields(command)...)
			if err != nil {
				continue // it is not installed
			}
			for line := range strings.Lines(string(out)) {
				line = strings.TrimSpace(counters.ReplaceAllString(line, ""))
				switch _, rest, _ := strings.Cut(line, ": "); {
				case line == "":
				case kind == "link":
					f.add(kind, "%s", rest)
				default:
					f.add(kind, "%s: %s", command, line)
				}
			}
		}
	}
}

// volatile are sysctls that change by themselves (the kernel's admin-guide/sysctl):
// counts of what is in use, random numbers, and a rate that the kernel lowers.
var volatile = regexp.MustCompile(`^(fs/(aio-nr|dentry-state|file-nr|inode-nr|inode-state|quota/.*)|` +
	`kernel/(ns_last_pid|random/.*|pty/nr|perf_event_max_sample_rate|sched_domain/.*)|.*_count)$`)

func (m surveyor) sysctls(f *facts, below string) {
	m.walk(filepath.Join("proc/sys", below), 99, func(name string, d fs.DirEntry) {
		key := strings.TrimPrefix(name, "proc/sys/")
		if d.IsDir() || volatile.MatchString(key) {
			return
		}
		if text, ok := m.text(name); ok {
			f.add("sysctl", "%s: %s", key, text)
		}
	})
}

// loadedByUse are modules that the kernel loads by itself when bridges, rules or
// file systems are first used, and that change nothing for others.
var loadedByUse = regexp.MustCompile(`^(bridge|stp|llc|veth|tun|tap|vhost\w*|overlay|loop|btrfs|xor|raid6_pq|ext4|jbd2|mbcache|crc\w*|libcrc\w*|` +
	`x_tables|xt_\w+|ip6?_tables|ip6?table_\w+|ipt_\w+|ip6t_\w+|nft_\w+|nf_\w+|nfnetlink\w*|xfrm_\w+|kvm\w*|irqbypass|sch_\w+|cls_\w+|inet_diag|\w+_diag|fuse)$`)

func (m surveyor) modules(f *facts) {
	text, _ := m.text("proc/modules") // a kernel may have none
	for line := range strings.Lines(text) {
		if name, _, _ := strings.Cut(line, " "); !loadedByUse.MatchString(name) {
			f.add("module", "%s", name)
		}
	}
}

// groups are the top control group and those just below it, in each hierarchy,
// with the contents of the files that hold settings. Deeper ones come and go.
func (m surveyor) groups(f *facts) {
	const top = "sys/fs/cgroup"
	dirs := []string{top}
	for _, depth := range []string{"*", "*/*"} {
		found, _ := filepath.Glob(m.path(filepath.Join(top, depth, "cgroup.procs")))
		for _, procs := range found {
			dirs = append(dirs, filepath.Join(top, strings.TrimPrefix(filepath.Dir(procs), m.path(top))))
		}
	}
	for _, dir := range dirs {
		if filepath.Base(dir) == bench.CgroupRoot {
			continue // runs come and go, and a run's own are looked for by its name
		}
		if _, ok := m.text(dir + "/cgroup.procs"); !ok {
			continue // of version 1, where hierarchies are mounted
		}
		f.add("cgroup", "%s", dir)
		files, _ := os.ReadDir(m.path(dir))
		for _, file := range files {
			info, err := file.Info()
			if err != nil || file.IsDir() || !holdsSetting(file.Name(), info.Mode()) {
				continue
			}
			name := filepath.Join(dir, file.Name())
			text, ok := m.text(name)
			// While any run has groups, what it changed is noted on them.
			if note, err := m.noted(dir); file.Name() == "cgroup.subtree_control" && err == nil {
				text = note
			}
			if ok {
				f.add("control", "%s: %s", name, text)
			}
		}
	}
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
func (m surveyor) noted(dir string) (string, error) {
	text := make([]byte, 4096)
	n, err := unix.Getxattr(m.path(filepath.Join(dir, bench.CgroupRoot)), "trusted.tare.subtree_control", text)
	if err != nil {
		return "", err
	}
	return string(bytes.TrimSpace(text[:n])), nil
}

func (m surveyor) swaps(f *facts) {
	text, _ := m.text("proc/swaps")
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] != "Filename" && !m.others(fields[0]) {
			f.add("swap", "%s %s", fields[0], fields[1])
		}
	}
}

// runtime are the files of /run, with their modes: it must be the machine's own.
func (m surveyor) runtime(f *facts) {
	m.walk("run", 9, func(name string, d fs.DirEntry) {
		if info, err := d.Info(); err == nil && name != "run/tare" && !strings.HasPrefix(name, "run/tare/") {
			f.add("run", "/%s %v", name, info.Mode())
		}
	})
}

func (m surveyor) files(f *facts) {
	for _, root := range []string{"etc/docker", "etc/containerd", "etc/containers", "etc/cni", "etc/libvirt", "etc/lxc", "etc/subuid",
		"etc/resolv.conf", "etc/hosts", "var/lib/docker", "var/lib/containerd", "var/lib/containers", "var/lib/cni", "var/lib/libvirt",
		"var/lib/lxc", "var/lib/machines", "var/cache/libvirt", "var/log/libvirt", "var/log/lxc", "opt/containerd", "opt/cni",
		"root/.docker", "root/.config/containers", "root/.local/share/containers", "root/.cache/libvirt", "root/.cache/lxc"} {
		m.walk(root, 9, func(name string, d fs.DirEntry) {
			if info, err := d.Info(); err == nil {
				f.add("file", "/%s %v %d %v", name, info.Mode(), info.Size(), info.ModTime())
			}
		})
	}
}

func (m surveyor) mounts(f *facts) {
	text, _ := m.text("proc/self/mountinfo")
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 3 && !m.others(line) && !strings.Contains(line, m.state) { // what a run mounts is looked for by its name
			f.add("mount", "%s", strings.Join(fields[3:], " "))
		}
	}
}

func (m surveyor) settings(f *facts) {
	for _, pattern := range []string{"sys/block/loop*/loop/backing_file", "sys/kernel/mm/ksm/run", "sys/kernel/mm/transparent_hugepage/*",
		"sys/devices/system/cpu/cpufreq/policy*/scaling_*", "sys/block/*/queue/scheduler"} {
		paths, _ := filepath.Glob(m.path(pattern))
		for _, path := range paths {
			name := strings.TrimPrefix(path, filepath.Clean(m.root)+"/")
			info, err := os.Stat(path)
			if err != nil || info.IsDir() || strings.HasSuffix(name, "_cur_freq") {
				continue
			}
			if text, ok := m.text(strings.TrimPrefix(name, "/")); ok && !m.others(text) {
				f.add("setting", "/%s: %s", strings.TrimPrefix(name, "/"), text)
			}
		}
	}
}

// units are what a running systemd has: a service or socket that was started is new.
func (m surveyor) units(f *facts) {
	out, err := m.output("systemctl", "list-units", "--all", "--plain", "--no-legend", "--no-pager")
	if err != nil {
		return // there is no systemd
	}
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) > 3 {
			f.add("unit", "%s %s", fields[0], strings.Join(fields[2:4], " "))
		}
	}
}

// ofPlatforms are the daemons of platforms and what they start beside themselves.
var ofPlatforms = regexp.MustCompile(`^(dockerd|docker-proxy|containerd|containerd-shim.*|podman|conmon|crio|incusd|lxd|lxcfs|lxc-monitord|lxc-start|libvirtd|virt\w+d|` +
	`dnsmasq|systemd-machine.*|systemd-nspawn|xenstored|xenconsoled|slirp4netns|passt.*|pasta.*|runsc.*)$`)

// daemons are those of the first process that run without a mark of Tare's: the user's, or started
// for a run by somebody else, such as through a socket or the message bus.
func (m surveyor) daemons(f *facts) {
	dirs, _ := filepath.Glob(m.path("proc/[0-9]*"))
	for _, dir := range dirs {
		pid := filepath.Base(dir)
		name, ok := m.text("proc/" + pid + "/comm")
		environ, readable := m.text("proc/" + pid + "/environ")
		status, _ := m.text("proc/" + pid + "/status")
		if ok && readable && environ != "" && strings.Contains(status, "\nPPid:\t1\n") && ofPlatforms.MatchString(name) && !strings.Contains(environ, bench.ProcessMark+"=") {
			f.add("daemon", "%s, process %s", name, pid)
		}
	}
}

// openToOthers lists what users other than root can reach and use of a tree: sockets to connect to,
// files to write to or to run as root, directories to look into. The tree's top may be passed through.
func openToOthers(top string) (open []string) {
	_ = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		mode := info.Mode()
		switch perm := mode.Perm(); {
		case path == top && perm&0o002 == 0:
			return nil
		case d.IsDir() && perm&0o001 == 0 && perm&0o004 == 0:
			return fs.SkipDir // nobody gets past it
		case d.IsDir(), mode&fs.ModeSocket != 0 && perm&0o002 != 0, mode.IsRegular() && perm&0o002 != 0, mode.IsRegular() && mode&fs.ModeSetuid != 0 && perm&0o001 != 0:
			open = append(open, fmt.Sprintf("%s %v", path, mode))
		}
		return nil
	})
	return open
}
