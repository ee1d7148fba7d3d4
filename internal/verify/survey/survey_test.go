package survey_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/verify/survey"
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
	"proc/10/comm":                               "worker\n",
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

// TestSees plants one of everything on a host, and each time the difference
// between two surveys is that thing; of what changes by itself it says nothing.
func TestSees(t *testing.T) {
	for _, c := range []struct {
		name, file, text string // the text is added; "-": the file goes
		left, gone       []string
	}{
		{"module", "proc/modules", "br_netfilter 32768 0 - Live 0x0\n", []string{"module br_netfilter"}, nil},
		{"sysctl", "proc/sys/net/ipv4/ip_forward", "=1\n", []string{"sysctl net/ipv4/ip_forward: 1"}, []string{"sysctl net/ipv4/ip_forward: 0"}},
		{"sysctl elsewhere", "proc/sys/vm/overcommit_memory", "=1\n", []string{"sysctl vm/overcommit_memory: 1"}, []string{"sysctl vm/overcommit_memory: 0"}},
		{"new sysctl", "proc/sys/net/bridge/bridge-nf-call-iptables", "1\n", []string{"sysctl net/bridge/bridge-nf-call-iptables: 1"}, nil},
		{"random number", "proc/sys/kernel/random/uuid", "=2\n", nil, nil},
		{"controller", "sys/fs/cgroup/cgroup.subtree_control", "=memory cpuset\n",
			[]string{"control /sys/fs/cgroup/cgroup.subtree_control: memory cpuset"}, []string{"control /sys/fs/cgroup/cgroup.subtree_control: memory"}},
		{"limit of a group", "sys/fs/cgroup/user.slice/memory.max", "=1000\n",
			[]string{"control /sys/fs/cgroup/user.slice/memory.max: 1000"}, []string{"control /sys/fs/cgroup/user.slice/memory.max: max"}},
		{"count in a group", "sys/fs/cgroup/user.slice/memory.events", "=oom 1\n", nil, nil},
		{"group", "sys/fs/cgroup/lxc.monitor.x/cgroup.procs", "", []string{"cgroup /sys/fs/cgroup/lxc.monitor.x"}, nil},
		{"group of another run", "sys/fs/cgroup/tare/cgroup.procs", "", nil, nil},
		{"group of a user's command", "sys/fs/cgroup/user.slice/two/x/cgroup.procs", "", nil, nil},
		{"swap", "proc/swaps", "/state/runs/r/swap file 100 0 -3\n", []string{"swap /state/runs/r/swap file"}, nil},
		{"loop", "sys/block/loop1/loop/backing_file", "/state/docker-btrfs.img\n", []string{"loop loop1 /state/docker-btrfs.img"}, nil},
		{"huge pages", "sys/kernel/mm/transparent_hugepage/enabled", "=[always] madvise never\n",
			[]string{"setting /sys/kernel/mm/transparent_hugepage/enabled: [always] madvise never"},
			[]string{"setting /sys/kernel/mm/transparent_hugepage/enabled: always [madvise] never"}},
		{"mount", "proc/self/mountinfo", "23 22 0:30 / /mnt rw - tmpfs none rw\n", []string{"mount / /mnt rw - tmpfs none rw"}, nil},
		{"link", "says/ip -o link", "2: docker0: <UP>\n", []string{"link docker0: <UP>"}, nil},
		{"address", "says/ip -o addr", "2: docker0 inet 172.17.0.1/16\n", []string{"network ip -o addr: 2: docker0 inet 172.17.0.1/16"}, nil},
		{"firewall", "says/iptables-save", "=:FORWARD DROP [1:2]\n", []string{"firewall iptables-save: :FORWARD DROP"}, []string{"firewall iptables-save: :FORWARD ACCEPT"}},
		{"counted packet", "says/iptables-save", "=:FORWARD ACCEPT [8:9]\n", nil, nil},
		{"file in /run", "run/lxc/lock", "x", []string{"file /run/lxc drwxr-xr-x", "file /run/lxc/lock -rw-r--r--"}, nil},
		{"socket gone", "run/user/1000/bus", "-", nil, []string{"file /run/user/1000/bus -rw-r--r--"}},
		{"unit", "says/systemctl list-units --all --plain --no-legend --no-pager", "libvirtd.service loaded active running libvirt\n", []string{"unit libvirtd.service loaded active running"}, nil},
		{"daemon", "proc/8/comm", "virtlogd\n", []string{"daemon virtlogd, process 8"}, nil},
		{"daemon with a parent", "proc/11/comm", "dockerd\n", nil, nil},
		{"daemon of another run", "proc/9/comm", "dockerd\n", nil, nil},
		{"program", "proc/10/cmdline", "bash\x00-l\x00", []string{"process 10 bash -l"}, nil},
		{"thread of the kernel's", "proc/10/cmdline", "", []string{"process 10 [worker]"}, nil},
		{"listener", "proc/net/tcp", "0: 0100007F:1F90 00000000:0000 0A\n", []string{"socket tcp 0100007F:1F90"}, nil},
		{"connection", "proc/net/tcp", "1: 0100007F:1F91 00000000:0000 01\n", nil, nil},
		{"socket with a name", "proc/net/unix", "0: 2 0 10000 1 1 77 /run/x\n", []string{"socket unix /run/x"}, nil},
		{"shared memory", "proc/sysvipc/shm", "42 0 1600\n", []string{"ipc shm 42"}, nil},
		{"file written", "etc/docker/daemon.json", " ", []string{"file /etc/docker/daemon.json -rw-r--r-- 3 " + then.String()}, []string{"file /etc/docker/daemon.json -rw-r--r-- 2 " + then.String()}},
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
			h := survey.Host{Root: root, Output: func(argv ...string) ([]byte, error) {
				return os.ReadFile(filepath.Join(root, "says", strings.Join(argv, " ")))
			}}
			look := func() []string {
				return slices.Concat(h.Files(survey.Trees{"/run": 9}), h.Written(survey.Trees{"/etc/docker": 9}), h.Mounts(), h.Network(), h.Sockets(),
					h.Processes(), h.Daemons(), h.IPC(), h.Units(), h.Sysctls(""), h.Modules(), h.Swaps(), h.Loops(), h.Settings(), h.TopGroups())
			}
			before := look()
			if left, gone := survey.Changes(before, look()); len(left)+len(gone) > 0 {
				t.Fatalf("of nothing: new %q, gone %q", left, gone)
			}
			plant(t, filepath.Join(root, c.file), c.text)
			left, gone := survey.Changes(before, look())
			slices.Sort(left)
			slices.Sort(gone)
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
	if err := errors.Join(err, f.Close(), os.Chtimes(path, then, then)); err != nil {
		t.Fatal(err)
	}
}

// then is when all files are written.
var then = time.Unix(1e9, 0)

// TestGroups lists control groups at every depth, and what they hand down.
func TestGroups(t *testing.T) {
	h := survey.Host{Root: t.TempDir()}
	for name, text := range map[string]string{"cgroup.subtree_control": "", "a/cgroup.subtree_control": "cpu\n", "a/b/c/cgroup.procs": ""} {
		plant(t, filepath.Join(h.Root, "sys/fs/cgroup", name), text)
	}
	const top = "/sys/fs/cgroup"
	if got, want := h.Groups(), []string{"cgroup " + top, "cgroup " + top + "/a", "cgroup " + top + "/a/b", "cgroup " + top + "/a/b/c"}; !slices.Equal(got, want) {
		t.Errorf("groups %q, want %q", got, want)
	}
	if got, want := h.Controllers(), []string{"control " + top + "/a/cgroup.subtree_control: cpu", "control " + top + "/cgroup.subtree_control: "}; !slices.Equal(got, want) {
		t.Errorf("handed down %q, want %q", got, want)
	}
}
