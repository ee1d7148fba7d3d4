package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tare/internal/bench"
)

// Mount tables: hybrid as captured on a host, v1 with controllers mounted
// together, v2 as systemd mounts it, and v1 as seen inside a container.
const (
	hybrid = `31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct
34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
36 31 0:33 / /sys/fs/cgroup/devices rw,relatime - cgroup cgroup rw,devices
37 31 0:34 / /sys/fs/cgroup/freezer rw,relatime - cgroup cgroup rw,freezer
38 31 0:35 / /sys/fs/cgroup/blkio rw,relatime - cgroup cgroup rw,blkio
39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
`
	together = `24 23 0:22 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct
25 23 0:23 / /sys/fs/cgroup/memory rw,nosuid shared:10 - cgroup cgroup rw,memory
`
	v2only    = "29 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n"
	container = "700 690 0:32 /docker/c1 /sys/fs/cgroup/memory ro,nosuid - cgroup cgroup rw,memory\n"
)

// hostWith returns the root of a host with the given files, by path.
func hostWith(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for path, text := range files {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestDetectAndOf(t *testing.T) {
	for _, c := range []struct {
		name, mounts, of, mode string
		want                   map[string]string // below /sys/fs/cgroup
	}{
		{"hybrid", hybrid, "9:name=systemd:/\n8:pids:/p\n7:blkio:/\n6:freezer:/\n5:devices:/\n4:memory:/api/c0\n3:cpuset:/\n2:cpuacct:/a\n1:cpu:/\n0::/u\n", "hybrid",
			map[string]string{"pids": "pids/p", "blkio": "blkio", "freezer": "freezer", "memory": "memory/api/c0",
				"cpuset": "cpuset", "cpuacct": "cpuacct/a", "cpu": "cpu", Unified: "unified/u"}},
		{"v1", together, "4:cpu,cpuacct:/x\n5:memory:/y\n3:net_cls,net_prio:/z\n", "v1",
			map[string]string{"cpu": "cpu,cpuacct/x", "cpuacct": "cpu,cpuacct/x", "memory": "memory/y"}},
		{"v2", v2only, "0::/user.slice/a:b.scope\n", "v2", map[string]string{Unified: "user.slice/a:b.scope"}},
		{"deleted", v2only, "0::/gone (deleted)\n", "v2", map[string]string{}},
		{"inside a container", container, "4:memory:/docker/c1/sub\n", "v1", map[string]string{"memory": "memory/sub"}},
		{"outside the container", container, "4:memory:/other\n", "v1", map[string]string{}},
	} {
		root := hostWith(t, map[string]string{"proc/self/mountinfo": c.mounts, "proc/7/cgroup": c.of})
		fs, err := DetectAt(root)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for k, v := range c.want {
			c.want[k] = filepath.Join(root, "sys/fs/cgroup", v)
		}
		got, err := fs.Of(7)
		if d := cmp.Diff(c.want, got); d != "" || err != nil || fs.Mode() != c.mode {
			t.Errorf("%s: mode %s, %v\n%s", c.name, fs.Mode(), err, d)
		}
	}
}

func TestDetectFails(t *testing.T) {
	_, err := DetectAt(hostWith(t, map[string]string{"proc/self/mountinfo": "22 1 0:20 / / rw - ext4 /dev/vda rw\n"}))
	if !errors.Is(err, bench.ErrUnavailable) || bench.HintOf(err) == "" {
		t.Errorf("no cgroups: %v", err)
	}
	_, err = DetectAt(hostWith(t, map[string]string{"proc/self/mountinfo": hybrid + "garbage\n"}))
	if err == nil || !strings.Contains(err.Error(), `line 12: "garbage"`) {
		t.Errorf("garbage: %v", err)
	}
	if _, err := DetectAt(t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no proc: %v", err)
	}
}

// If process 1 is in its own group, LXC makes a container's group below that. It is removed with
// ours.
func TestRemoveBelowFirstProcess(t *testing.T) {
	root := hostWith(t, map[string]string{"proc/self/mountinfo": hybrid, "proc/1/cgroup": "4:memory:/api/c0\n8:pids:/\n"})
	fs, err := DetectAt(root)
	if err != nil {
		t.Fatal(err)
	}
	theirs := filepath.Join(root, "sys/fs/cgroup/memory/api/c0/tare")
	for _, dir := range []string{filepath.Join(theirs, "run/one/lxc.payload"), filepath.Join(root, "sys/fs/cgroup/pids/tare/run/one")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := fs.Group("run/one").Remove(); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{theirs, filepath.Join(root, "sys/fs/cgroup/pids/tare")} {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", dir, err)
		}
	}
	if _, err := os.Stat(filepath.Dir(theirs)); err != nil {
		t.Errorf("the first process's own group is gone: %v", err)
	}
}

// A v2 host on which only some controllers can be enabled for children.
func TestCreateReportsUnenforced(t *testing.T) {
	files := map[string]string{"proc/self/mountinfo": v2only, "proc/swaps": "Filename\tType\n/dev/vdb partition\n",
		"sys/fs/cgroup/cgroup.controllers": "cpu memory\n"}
	for _, dir := range []string{"", "tare/", "tare/r1/"} {
		files["sys/fs/cgroup/"+dir+"cgroup.subtree_control"] = ""
	}
	for _, dir := range []string{"tare/", "tare/r1/", "tare/r1/a/"} {
		files["sys/fs/cgroup/"+dir+"memory.low"] = "0\n"
	}
	files["sys/fs/cgroup/tare/r1/b/memory.low"] = "1048576\n"
	for _, f := range []string{"cpu.max", "cpu.weight", "memory.max"} {
		files["sys/fs/cgroup/tare/r1/a/"+f] = ""
	}
	root := hostWith(t, files)
	fs, err := DetectAt(root)
	if err != nil {
		t.Fatal(err)
	}
	_, unenforced, err := fs.Create("r1/a", Limits{CPUSet: []int{0}, Nodes: "0", Quota: 1.5, Weight: 50, Memory: bench.GiB, MemorySoft: 2 * bench.MiB, Pids: 9})
	if d := cmp.Diff([]string{"cpu set", "memory nodes", "swap limit", "pids limit"}, unenforced); d != "" || err != nil {
		t.Errorf("unenforced: %v\n%s", err, d)
	}
	for path, want := range map[string]string{
		"cgroup.subtree_control": "+memory", "tare/r1/cgroup.subtree_control": "+memory",
		"tare/r1/a/cpu.max": "150000 100000", "tare/r1/a/cpu.weight": "50", "tare/r1/a/memory.max": "1073741824",
		"tare/r1/a/memory.low": "2097152", "tare/r1/memory.low": "3145728", "tare/memory.low": "3145728",
	} {
		got, err := os.ReadFile(filepath.Join(root, "sys/fs/cgroup", path))
		if string(got) != want || err != nil {
			t.Errorf("%s = %q, %v; want %q", path, got, err, want)
		}
	}
}

func TestNamesStayInside(t *testing.T) {
	fs, err := DetectAt(hostWith(t, map[string]string{"proc/self/mountinfo": v2only}))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", ".", "..", "/a", "a/../..", "a//b", "a/"} {
		if _, _, err := fs.Create(name, Limits{}); err == nil {
			t.Errorf("created %q", name)
		}
		if err := Remove(t.Context(), name); err == nil {
			t.Errorf("removed %q", name)
		}
	}
}

func TestSharesOf(t *testing.T) {
	// The kernel's own conversion: weight 100 is 1024, see SharesOf.
	for weight, want := range map[int]int{1: 10, 100: 1024, 200: 2048, 10000: 102400, 0: 2} {
		if got := SharesOf(weight); got != want {
			t.Errorf("weight %d is %d shares, want %d", weight, got, want)
		}
	}
}

func TestCPUListRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfDistinct(rapid.IntRange(0, maxCPU-1), rapid.ID[int]).Draw(t, "cpus")
		got, err := ParseCPUList(CPUList(want))
		if err != nil || !sameCPUs(got, want) {
			t.Fatalf("%v, %v; want %v", got, err, want)
		}
	})
}

func TestParseCPUListRefuses(t *testing.T) {
	for _, bad := range []string{"x", "1-", "-1", "3-1", "0,", "0-99999999", "1 2"} {
		if got, err := ParseCPUList(bad); err == nil || !strings.Contains(err.Error(), `"`+bad+`"`) {
			t.Errorf("%q: %v, %v", bad, got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(hybrid, "4:cpu,cpuacct:/x\n0::/u\n", "0-3,7")
	f.Add(container, "4:memory:/docker/c1/sub\n", "")
	f.Add(`1 1 0:1 /\040 /a\134b rw - cgroup2 c rw`, "0::/../..\n", "1-2")
	f.Fuzz(func(t *testing.T, mounts, of, cpus string) {
		fs := &FS{root: "/", v1: map[string]hierarchy{}, v2: map[string]bool{}}
		if fs.mounts(mounts) != nil {
			return
		}
		dirs, _ := fs.membership(of)
		for c, dir := range dirs {
			h := fs.unified
			if c != Unified {
				h = fs.v1[c]
			}
			if rel, err := filepath.Rel(h.dir, dir); err != nil || !filepath.IsLocal(rel) {
				t.Errorf("%s: %s is outside of %s", c, dir, h.dir)
			}
		}
		_, _ = ParseCPUList(cpus)
	})
}
