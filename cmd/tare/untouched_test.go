package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// insideVar is set in the environment of the test's second half.
const insideVar = "TARE_TEST_INSIDE"

// TestHostUntouched sets up a user's host, with a bridge that has the addresses
// of Docker's, a firewall, and daemons of the user's own behind their usual sockets,
// and runs every platform that starts a daemon or needs a network. Nothing of it has
// changed after, and nobody has spoken to the daemons. The host is namespaces of the
// test's own, so that whatever else happens on the machine is no difference.
func TestHostUntouched(t *testing.T) {
	if os.Getenv(insideVar) != "" {
		untouched(t)
		return
	}
	realState(t) // or it is skipped
	cmd := exec.CommandContext(t.Context(), "unshare", "--net", "--mount", "--propagation", "private",
		os.Args[0], "-test.run=^TestHostUntouched$", "-test.v")
	cmd.Env = append(os.Environ(), insideVar+"="+bin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

func untouched(t *testing.T) {
	if err := unix.Mount("tare-test", "/run", "tmpfs", 0, "mode=755"); err != nil {
		t.Fatal(err)
	}
	state := realState(t)
	var spoken atomic.Value
	for _, path := range []string{"docker.sock", "containerd/containerd.sock", "podman/podman.sock", "libvirt/libvirt-sock",
		"libvirt/libvirt-sock-ro", "libvirt/virtlogd-sock", "crun/user", "runc/user"} {
		path = filepath.Join("/run", path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		ln, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		go func() {
			if _, err := ln.Accept(); err == nil {
				spoken.Store(path)
			}
		}()
	}
	for _, line := range []string{
		"ip link set lo up",
		"ip link add user-br0 type bridge", "ip link set user-br0 addrgenmode none", "ip addr add 172.17.0.1/16 dev user-br0", "ip link set user-br0 up",
		"ip link add user-v0 type veth peer name user-v1", "ip link set user-v0 addrgenmode none", "ip link set user-v0 master user-br0 up",
		"ip link add docker0 type bridge", "ip link add virbr0 type bridge",
		"ip route add 10.231.0.0/16 dev user-br0", "ip rule add pref 77 from 10.9.0.0/16 lookup 77",
		"sysctl -qw net.ipv4.ip_forward=0 net.ipv4.conf.all.rp_filter=2",
		"iptables -P FORWARD DROP", "iptables -A FORWARD -i user-br0 -j ACCEPT",
		"iptables -t nat -A POSTROUTING -s 172.17.0.0/16 -j MASQUERADE",
		"ip6tables -P FORWARD ACCEPT", "ip6tables -A INPUT -i user-v1 -j DROP",
	} {
		if out, err := exec.Command("sh", "-c", line).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
	}
	before := survey(t)
	t.Logf("%d facts of the host", len(before))
	for _, want := range []string{"firewall iptables-save: :FORWARD DROP", "sysctl net/ipv4/ip_forward: 0", "link user-br0", "run /run/docker.sock"} {
		if !slices.ContainsFunc(before, func(s string) bool { return strings.HasPrefix(s, want) }) {
			t.Fatalf("the survey does not see %q:\n%s", want, strings.Join(before, "\n"))
		}
	}

	results := filepath.Join(t.TempDir(), "results")
	p := start(t, state, "run", writeSpec(t, "native, docker, podman, containerd, lxc, nspawn, uml, libvirt-tcg",
		startupScene+"  - {name: net, workload: netperf, platforms: [native, docker]}\n"), "-o", results)
	run := p.await(runID)[1]
	p.await(`^ *1/10 `)
	f := footprintOf(t, state, run)
	p.end()
	for _, o := range outcomes(t, results) {
		if o.Error != "" {
			t.Errorf("%s of %s did not finish, so that the test shows less: %s", o.Trial, o.Scene, o.Error)
		}
	}
	f.checkGone(t)
	if path := spoken.Load(); path != nil {
		t.Errorf("the user's own %s was spoken to", path)
	}
	// Control groups are the machine's, where others come and go.
	var left, gone []string
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		after := survey(t)
		left, gone = without(after, before), without(before, after)
		if len(left)+len(gone) == 0 {
			return
		}
	}
	t.Errorf("new on the host:\n  %s\ngone from it:\n  %s", strings.Join(left, "\n  "), strings.Join(gone, "\n  "))
}

// without returns what of a is not in b.
func without(a, b []string) []string {
	known := map[string]bool{}
	for _, s := range b {
		known[s] = true
	}
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return known[s] })
}

// survey lists what a user has on a host that runs of Tare are not to change.
func survey(t *testing.T) (facts []string) {
	t.Helper()
	add := func(kind, fact string) { facts = append(facts, kind+" "+fact) }
	counters := regexp.MustCompile(`\[\d+:\d+\]|^#.*|packets \d+ bytes \d+|(valid|preferred)_lft \S+`)
	for kind, commands := range map[string][]string{
		"firewall": {"iptables-save", "ip6tables-save", "nft list ruleset"},
		"network":  {"ip -o addr", "ip route show table all", "ip rule", "ip netns"},
		"link":     {"ip -o link"},
		"unit":     {"systemctl list-units --all --plain --no-legend --no-pager"},
	} {
		for _, command := range commands {
			argv := strings.Fields(command)
			out, err := exec.Command(argv[0], argv[1:]...).Output()
			if err != nil {
				continue // it is not installed, or there is no systemd
			}
			for line := range strings.Lines(string(out)) {
				line = strings.TrimSpace(counters.ReplaceAllString(line, ""))
				switch _, rest, _ := strings.Cut(line, ": "); {
				case line == "":
				case kind == "link":
					add(kind, rest)
				case kind == "unit":
					add(kind, strings.Fields(line)[0])
				default:
					add(kind, command+": "+line)
				}
			}
		}
	}
	walk := func(root string, deep int, visit func(path string, d fs.DirEntry)) {
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil // what vanishes meanwhile, or was never there, is no fact
			}
			if d.IsDir() && strings.Count(strings.TrimPrefix(path, root), "/") >= deep {
				return fs.SkipDir
			}
			visit(path, d)
			return nil
		})
	}
	for _, root := range []string{"/proc/sys/net", "/proc/sys/vm", "/proc/sys/user", "/proc/sys/fs/inotify"} {
		walk(root, 9, func(path string, d fs.DirEntry) {
			text, err := os.ReadFile(path)
			if err == nil && !strings.HasSuffix(path, "_count") {
				add("sysctl", strings.TrimPrefix(path, "/proc/sys/")+": "+string(bytes.TrimSpace(text)))
			}
		})
	}
	walk("/sys/fs/cgroup", 99, func(path string, d fs.DirEntry) {
		if d.IsDir() && !strings.Contains(path, "/tare") {
			add("cgroup", path)
		}
	})
	walk("/run", 9, func(path string, d fs.DirEntry) {
		if !strings.HasPrefix(path, "/run/tare") {
			add("run", path+" "+d.Type().String())
		}
	})
	for _, root := range []string{"/etc/docker", "/etc/containerd", "/etc/containers", "/etc/cni", "/etc/libvirt", "/etc/lxc", "/etc/subuid",
		"/etc/resolv.conf", "/etc/hosts", "/var/lib/docker", "/var/lib/containerd", "/var/lib/containers", "/var/lib/cni", "/var/lib/libvirt",
		"/var/lib/lxc", "/var/lib/machines", "/var/cache/libvirt", "/var/log/libvirt", "/var/log/lxc", "/opt/containerd", "/opt/cni",
		"/root/.docker", "/root/.config/containers", "/root/.local/share/containers", "/root/.cache/libvirt", "/root/.cache/lxc"} {
		walk(root, 9, func(path string, d fs.DirEntry) {
			if info, err := d.Info(); err == nil {
				add("file", fmt.Sprintf("%s %v %d %v", path, info.Mode(), info.Size(), info.ModTime()))
			}
		})
	}
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		if fields := strings.Fields(line); !strings.Contains(line, "/tare") { // what a run mounts is looked for by its name
			add("mount", strings.Join(fields[3:], " "))
		}
	}
	for _, pattern := range []string{"/sys/block/loop*/loop/backing_file", "/sys/kernel/mm/ksm/run", "/sys/kernel/mm/transparent_hugepage/enabled",
		"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor"} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			if text, err := os.ReadFile(path); err == nil && !bytes.Contains(text, []byte("tare")) {
				add("setting", path+": "+string(bytes.TrimSpace(text)))
			}
		}
	}
	slices.Sort(facts)
	return facts
}
