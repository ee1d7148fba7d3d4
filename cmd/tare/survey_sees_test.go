package main

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// smallHost is a tree with something of every kind that a survey looks at.
var smallHost = map[string]string{
	"proc/sys/net/ipv4/ip_forward":               "0\n",
	"proc/sys/vm/overcommit_memory":              "0\n",
	"proc/sys/kernel/random/uuid":                "1\n",
	"proc/modules":                               "overlay 1 0 - Live 0x0\nlp 1 0 - Live 0x0\n",
	"proc/swaps":                                 "Filename Type Size\n/dev/sda2 partition 100 0 -2\n",
	"proc/self/mountinfo":                        "22 1 0:20 / / rw - ext4 /dev/vda rw\n",
	"proc/7/comm":                                "sshd\n",
	"proc/7/environ":                             "LANG=C\x00",
	"sys/fs/cgroup/cgroup.procs":                 "1\n",
	"sys/fs/cgroup/cgroup.subtree_control":       "memory\n",
	"sys/fs/cgroup/user.slice/cgroup.procs":      "",
	"sys/fs/cgroup/user.slice/memory.max":        "max\n",
	"sys/fs/cgroup/user.slice/memory.events":     "oom 0\n",
	"sys/fs/cgroup/user.slice/one/cgroup.procs":  "",
	"sys/block/loop0/loop/backing_file":          "/home/user/disk\n",
	"sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
	"run/user/1000/bus":                          "",
	"run/tare/measure.lock":                      "{}",
	"etc/docker/daemon.json":                     "{}",
	"says/iptables-save":                         ":FORWARD ACCEPT [7:9]\n",
	"says/ip -o link":                            "1: lo: <UP>\n",
	"says/ip -o addr":                            "1: lo inet 127.0.0.1/8\n",
	"says/systemctl list-units --all --plain --no-legend --no-pager": "ssh.service loaded active running OpenSSH\n",
}

// TestSurveySees plants one of everything on a host, and each time the difference
// between two surveys is that thing; of what changes by itself, and of other runs', it says nothing.
func TestSurveySees(t *testing.T) {
	for _, c := range []struct {
		name, file, text string // the text is added; "-": the file goes
		left, gone       []string
	}{
		{"module", "proc/modules", "br_netfilter 32768 0 - Live 0x0\n", []string{"module br_netfilter"}, nil},
		{"module loaded by use", "proc/modules", "xt_MASQUERADE 1 0 - Live 0x0\n", nil, nil},
		{"sysctl", "proc/sys/net/ipv4/ip_forward", "=1\n", []string{"sysctl net/ipv4/ip_forward: 1"}, []string{"sysctl net/ipv4/ip_forward: 0"}},
		{"sysctl elsewhere", "proc/sys/vm/overcommit_memory", "=1\n", []string{"sysctl vm/overcommit_memory: 1"}, []string{"sysctl vm/overcommit_memory: 0"}},
		{"new sysctl", "proc/sys/net/bridge/bridge-nf-call-iptables", "1\n", []string{"sysctl net/bridge/bridge-nf-call-iptables: 1"}, nil},
		{"random number", "proc/sys/kernel/random/uuid", "=2\n", nil, nil},
		{"controller", "sys/fs/cgroup/cgroup.subtree_control", "=memory cpuset\n",
			[]string{"control sys/fs/cgroup/cgroup.subtree_control: memory cpuset"}, []string{"control sys/fs/cgroup/cgroup.subtree_control: memory"}},
		{"limit of a group", "sys/fs/cgroup/user.slice/memory.max", "=1000\n",
			[]string{"control sys/fs/cgroup/user.slice/memory.max: 1000"}, []string{"control sys/fs/cgroup/user.slice/memory.max: max"}},
		{"count in a group", "sys/fs/cgroup/user.slice/memory.events", "=oom 1\n", nil, nil},
		{"group", "sys/fs/cgroup/lxc.monitor.x/cgroup.procs", "", []string{"cgroup sys/fs/cgroup/lxc.monitor.x"}, nil},
		{"group of another run", "sys/fs/cgroup/tare/cgroup.procs", "", nil, nil},
		{"group of a user's command", "sys/fs/cgroup/user.slice/two/x/cgroup.procs", "", nil, nil},
		{"swap", "proc/swaps", "/state/runs/r/swap file 100 0 -3\n", []string{"swap /state/runs/r/swap file"}, nil},
		{"swap of another run", "proc/swaps", "/var/lib/tare/runs/r/swap file 100 0 -3\n", nil, nil},
		{"loop", "sys/block/loop1/loop/backing_file", "/state/docker-btrfs.img\n", []string{"setting /sys/block/loop1/loop/backing_file: /state/docker-btrfs.img"}, nil},
		{"huge pages", "sys/kernel/mm/transparent_hugepage/enabled", "=[always] madvise never\n",
			[]string{"setting /sys/kernel/mm/transparent_hugepage/enabled: [always] madvise never"},
			[]string{"setting /sys/kernel/mm/transparent_hugepage/enabled: always [madvise] never"}},
		{"mount", "proc/self/mountinfo", "23 22 0:30 / /mnt rw - tmpfs none rw\n", []string{"mount / /mnt rw - tmpfs none rw"}, nil},
		{"link", "says/ip -o link", "2: docker0: <UP>\n", []string{"link docker0: <UP>"}, nil},
		{"address", "says/ip -o addr", "2: docker0 inet 172.17.0.1/16\n", []string{"network ip -o addr: 2: docker0 inet 172.17.0.1/16"}, nil},
		{"firewall", "says/iptables-save", "=:FORWARD DROP [1:2]\n", []string{"firewall iptables-save: :FORWARD DROP"}, []string{"firewall iptables-save: :FORWARD ACCEPT"}},
		{"counted packet", "says/iptables-save", "=:FORWARD ACCEPT [8:9]\n", nil, nil},
		{"file in /run", "run/lxc/lock", "x", []string{"run /run/lxc drwxr-xr-x", "run /run/lxc/lock -rw-r--r--"}, nil},
		{"socket gone", "run/user/1000/bus", "-", nil, []string{"run /run/user/1000/bus -rw-r--r--"}},
		{"unit", "says/systemctl list-units --all --plain --no-legend --no-pager", "libvirtd.service loaded active running libvirt\n", []string{"unit libvirtd.service active running"}, nil},
		{"daemon", "proc/8/comm", "virtlogd\n", []string{"daemon virtlogd, process 8"}, nil},
		{"daemon with a parent", "proc/11/comm", "dockerd\n", nil, nil},
		{"loop of another test", "sys/block/loop1/loop/backing_file", "/tmp/TestX1/001/image\n", nil, nil},
		{"mount of another run", "proc/self/mountinfo", "23 22 0:30 / /var/tmp/tare-state-1/runs/x rw - tmpfs none rw\n", nil, nil},
		{"daemon of another run", "proc/9/comm", "dockerd\n", nil, nil},
		{"program", "proc/10/comm", "bash\n", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			for name, text := range smallHost {
				plant(t, filepath.Join(root, name), text)
			}
			for _, p := range []struct{ pid, parent, environ string }{
				{"8", "1", "LANG=C\x00"}, {"9", "1", "TARE_ID=r\x00"}, {"10", "1", "LANG=C\x00"}, {"11", "10", "LANG=C\x00"},
			} {
				plant(t, filepath.Join(root, "proc", p.pid, "environ"), p.environ)
				plant(t, filepath.Join(root, "proc", p.pid, "status"), "Name:\tx\nPPid:\t"+p.parent+"\nUid:\t0\n")
			}
			m := surveyor{root, func(argv ...string) ([]byte, error) {
				return os.ReadFile(filepath.Join(root, "says", strings.Join(argv, " ")))
			}, "/state"}
			survey := func() facts { return slices.Concat(m.namespaced(), m.shared()) }
			before := survey()
			if left, gone := changes(before, survey()); len(left)+len(gone) > 0 {
				t.Fatalf("of nothing: new %q, gone %q", left, gone)
			}
			plant(t, filepath.Join(root, c.file), c.text)
			left, gone := changes(before, survey())
			slices.Sort(left)
			slices.Sort(gone)
			left, gone = slices.Compact(left), slices.Compact(gone) // the first network namespace is looked at twice
			if !slices.Equal(left, c.left) || !slices.Equal(gone, c.gone) {
				t.Errorf("new %q, gone %q; want %q, %q", left, gone, c.left, c.gone)
			}
		})
	}
}

// plant adds the text to a file, puts it in its place after "=", and removes the file for "-".
func plant(t *testing.T, path, text string) {
	t.Helper()
	if text == "-" {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		return
	}
	how := os.O_APPEND
	if whole, ok := strings.CutPrefix(text, "="); ok {
		how, text = os.O_TRUNC, whole
	}
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	f, ferr := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|how, 0o644)
	if err := errors.Join(err, ferr); err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestOpenToOthers tells what others can use of a run's files from what they cannot reach.
func TestOpenToOthers(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(dir string) error
		open string
	}{
		{"a lock to read", func(dir string) error { return os.WriteFile(filepath.Join(dir, "lock"), nil, 0o644) }, ""},
		{"a closed directory", func(dir string) error { return os.Mkdir(filepath.Join(dir, "run"), 0o700) }, ""},
		{"a directory", func(dir string) error { return os.Mkdir(filepath.Join(dir, "run"), 0o755) }, "/run drwxr-xr-x"},
		{"a directory to pass", func(dir string) error { return os.Mkdir(filepath.Join(dir, "run"), 0o711) }, "/run drwx--x--x"},
		{"a socket behind a closed directory", func(dir string) error {
			return errors.Join(os.Mkdir(filepath.Join(dir, "run"), 0o700), socket(filepath.Join(dir, "run", "s"), 0o666))
		}, ""},
		{"a socket", func(dir string) error { return socket(filepath.Join(dir, "s"), 0o666) }, "/s Srw-rw-rw-"},
		{"a socket of root's", func(dir string) error { return socket(filepath.Join(dir, "s"), 0o600) }, ""},
		{"a setuid program", func(dir string) error {
			path := filepath.Join(dir, "x")
			return errors.Join(os.WriteFile(path, nil, 0o755), os.Chmod(path, 0o755|os.ModeSetuid))
		}, "/x urwxr-xr-x"},
		{"a file to write", func(dir string) error {
			path := filepath.Join(dir, "x")
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o602))
		}, "/x -rw-----w-"},
		{"the top", func(dir string) error { return os.Chmod(dir, 0o777) }, " drwxrwxrwx"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "open-") // a socket's path must be short
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			if err := c.make(dir); err != nil {
				t.Fatal(err)
			}
			var want []string
			if c.open != "" {
				want = []string{dir + c.open}
			}
			if got := openToOthers(dir); !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// socket leaves one behind, with the mode.
func socket(path string, mode os.FileMode) error {
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return err
	}
	ln.SetUnlinkOnClose(false)
	return errors.Join(os.Chmod(path, mode), ln.Close())
}
