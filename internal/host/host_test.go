package host

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
)

var update = flag.Bool("update", false, "write testdata/*.lines anew")

// plant lays out the host of testdata/NAME.txtar and returns its root.
func plant(t testing.TB, name string) string {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
	must(t, err)
	root := t.TempDir()
	for _, f := range archive.Files {
		put(t, root, f.Name, string(f.Data))
	}
	return root
}

// put writes a file; one whose name ends in @ becomes a link to its content.
func put(t testing.TB, root, name, text string) {
	t.Helper()
	link, isLink := strings.CutSuffix(name, "@")
	path := filepath.Join(root, link)
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if isLink {
		must(t, os.Symlink(strings.TrimSpace(text), path))
		return
	}
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, root, stateDir string) *Facts {
	t.Helper()
	f, err := Read(root, stateDir)
	must(t, err)
	f.Arch, f.DiskFree = "amd64", 100*bench.GiB // of the machine the test runs on
	return f
}

// TestHosts compares the printed facts of whole hosts.
func TestHosts(t *testing.T) {
	for _, name := range []string{"guest-hybrid", "metal-v2"} {
		t.Run(name, func(t *testing.T) {
			f := read(t, plant(t, name), "/var/lib/tare")
			var b strings.Builder
			for _, l := range f.Lines() {
				fmt.Fprintf(&b, "%s: %s\n", l.Name, l.Value)
				if l.Caveat != "" {
					fmt.Fprintf(&b, "\t! %s\n", l.Caveat)
				}
			}
			golden := filepath.Join("testdata", name+".lines")
			if *update {
				must(t, os.WriteFile(golden, []byte(b.String()), 0o644))
			}
			want, err := os.ReadFile(golden)
			must(t, err)
			if d := cmp.Diff(string(want), b.String()); d != "" {
				t.Error(d)
			}
			if len(f.Unread) > 0 {
				t.Errorf("not understood: %q", f.Unread)
			}
			data, err := json.Marshal(f)
			must(t, err)
			var again Facts
			must(t, json.Unmarshal(data, &again))
			if d := cmp.Diff(f, &again); d != "" {
				t.Errorf("lost in JSON: %s", d)
			}
		})
	}
}

// TestNodeCPUs reads which usable CPUs each NUMA node has; a node without any, as one of memory alone, is left out.
func TestNodeCPUs(t *testing.T) {
	root := plant(t, "metal-v2")
	for node, cpus := range map[string]string{"node0": "0-3\n", "node1": "\n", "node2": "4-5\n"} {
		dir := filepath.Join(root, "sys/devices/system/node", node)
		must(t, os.MkdirAll(dir, 0o755))
		must(t, os.WriteFile(filepath.Join(dir, "cpulist"), []byte(cpus), 0o644))
	}
	must(t, os.WriteFile(filepath.Join(root, "sys/devices/system/node/online"), []byte("0-2\n"), 0o644))
	if f := read(t, root, "/var/lib/tare"); f.NUMANodes != 3 || cmp.Diff([][]int{{0, 1, 2, 3}, {4, 5}}, f.NodeCPUs) != "" {
		t.Errorf("%d nodes, of the CPUs %v", f.NUMANodes, f.NodeCPUs)
	}
}

// TestThisHost reads the machine the test runs on.
func TestThisHost(t *testing.T) {
	f, err := Read("/", t.TempDir())
	must(t, err)
	if f.CPUs < 1 || len(f.Usable) < 1 || f.Cores < 1 || f.Memory < 64*bench.MiB || f.Kernel == unknown || f.NoFile == 0 {
		t.Errorf("facts: %+v", f)
	}
	if f.Root != (os.Geteuid() == 0) {
		t.Errorf("root is %v, the user is %d", f.Root, os.Geteuid())
	}
	if f.DiskFree <= 0 || f.Filesystem == unknown {
		t.Errorf("file system %q, %s free", f.Filesystem, f.DiskFree)
	}
	for _, problem := range f.Unread {
		t.Errorf("not understood: %s", problem)
	}
}

func TestLLCOf(t *testing.T) {
	f := read(t, plant(t, "metal-v2"), "/")
	for _, c := range []struct {
		cpus []int
		want bench.Bytes
	}{{[]int{0, 1}, 12 * bench.MiB}, {[]int{1, 2}, 24 * bench.MiB}, {[]int{0, 1, 2, 3, 4, 5, 6, 7}, 24 * bench.MiB}, {nil, 0}} {
		if got := f.LLCOf(c.cpus); got != c.want {
			t.Errorf("LLCOf(%v) = %s, want %s", c.cpus, got, c.want)
		}
	}
}

// TestStateDirectory finds the file system of a directory that may not exist yet.
func TestStateDirectory(t *testing.T) {
	root := plant(t, "metal-v2")
	must(t, os.MkdirAll(filepath.Join(root, "srv/my disk"), 0o755))
	for dir, want := range map[string]string{
		"/var/lib/tare":         "ext4 on /dev/nvme0n1p2",
		"/srv/my disk":          "xfs on /dev/nvme1n1",
		"/srv/my disk/new/deep": "xfs on /dev/nvme1n1",
		"/srv/my disks":         "ext4 on /dev/nvme0n1p2",
	} {
		if f := read(t, root, dir); f.Filesystem != want {
			t.Errorf("%s is on %q, want %q", dir, f.Filesystem, want)
		}
	}
}

// TestNonsenseIsSaid corrupts one source at a time. The other sources are read. The corrupt one is
// reported with its text and as a caveat.
func TestNonsenseIsSaid(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"sys/devices/system/cpu/online", "3-1", `"3-1"`},
		{"sys/devices/system/node/online", "one", `"one"`},
		{"sys/devices/system/cpu/cpu0/cache/index2/size", "big", `"big"`},
		{"sys/devices/system/cpu/cpu0/cache/index2/level", "two", `"two"`},
		{"sys/devices/system/cpu/intel_pstate/no_turbo", "maybe", `"maybe"`},
		{"sys/kernel/mm/transparent_hugepage/enabled", "always", `"always"`},
		{"sys/kernel/mm/ksm/run", "7", `"7"`},
		{"proc/meminfo", "MemTotal: lots", `"lots"`},
		{"proc/self/limits", "Max open files  many  more  files\n", "many"},
		{"proc/self/mountinfo", "22 27\n", "22 27"},
		{"proc/self/status", "Uid:\t0\n", `"0"`},
		{"proc/self/status", "Uid:\t0\t0\t0\t0\nCapEff:\tall\n", `"all"`},
		{"proc/sys/kernel/cap_last_cap", "last", `"last`},
	} {
		root := plant(t, "metal-v2")
		put(t, root, c.file, c.text)
		f := read(t, root, "/")
		if !slices.ContainsFunc(f.Unread, func(s string) bool { return strings.Contains(s, c.want) }) {
			t.Errorf("%s spoilt: Unread is %q, want %q in it", c.file, f.Unread, c.want)
		}
		if len(f.Caveats) < len(f.Unread) || f.Hostname != "metal" {
			t.Errorf("%s spoilt: caveats %q, host name %q", c.file, f.Caveats, f.Hostname)
		}
	}
	if _, err := Read(t.TempDir(), "/"); err == nil {
		t.Error("a host without /proc was read")
	}
}

// TestBareMinimum removes all optional sources. No fact is invented.
func TestBareMinimum(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"proc/self/status":              "Uid:\t1000\t1000\t1000\t1000\nCapEff:\t0\nCpus_allowed_list:\t0\n",
		"proc/self/limits":              "Max open files  1024  unlimited  files\n",
		"proc/self/mountinfo":           "27 1 0:30 / / rw - overlay overlay rw\n",
		"proc/self/ns/pid@":             "pid:[4026532222]",
		"proc/meminfo":                  "MemTotal: 1 kB\nMemFree: 1 kB\nMemAvailable: 1 kB\nBuffers: 0 kB\nCached: 0 kB\nSReclaimable: 0 kB\nShmem: 0 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n",
		"proc/sys/kernel/cap_last_cap":  "41\n",
		"sys/devices/system/cpu/online": "0\n",
	} {
		put(t, root, name, text)
	}
	f := read(t, root, "/")
	want := &Facts{Hostname: unknown, OS: unknown, Kernel: unknown, Arch: "amd64", CPUModel: unknown, CPUs: 1,
		Usable: []int{0}, Cores: 1, Sockets: 1, NUMANodes: 1, SMT: notExposed, Caches: map[string]bench.Bytes{},
		Memory: bench.KiB, Hypervisor: none, Container: true, Cgroup: none, Governor: notExposed, Turbo: notExposed,
		THP: "not built in", KSM: "not built in", ClockSource: notExposed, Mitigations: map[string]string{},
		Filesystem: "overlay on overlay", DiskFree: 100 * bench.GiB, NoFile: 1<<64 - 1, BootID: unknown,
		MissingCaps: append(slices.Clone(capabilities), "capability 41"), Caveats: f.Caveats}
	if d := cmp.Diff(want, f); d != "" {
		t.Error(d)
	}
	said := strings.Join(f.Caveats, "\n")
	for _, part := range []string{"inside a container", "cache sizes are not exposed", "no control groups",
		"no pressure stall", "overlay", "not root", "only 1 usable CPU: observer, peer and subject share it"} {
		if !strings.Contains(said, part) {
			t.Errorf("no caveat has %q:\n%s", part, said)
		}
	}
}

func TestHypervisor(t *testing.T) {
	const cpuid, flags = "dev/cpu/0/cpuid", "processor : 0\nflags : fpu hypervisor\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		leaf  string
		want  string
	}{
		{"no flag", map[string]string{"proc/cpuinfo": "flags : fpu vmx\n", "sys/class/dmi/id/sys_vendor": "QEMU"}, "", none},
		{"by CPUID", map[string]string{"proc/cpuinfo": flags, "sys/class/dmi/id/sys_vendor": "QEMU"}, "KVMKVMKVM\x00\x00\x00", "KVM"},
		{"TCG", map[string]string{"proc/cpuinfo": flags}, "TCGTCGTCGTCG", "QEMU without KVM"},
		{"by firmware", map[string]string{"proc/cpuinfo": flags, "sys/class/dmi/id/product_name": "VMware Virtual Platform"}, "", "VMware"},
		{"cloud", map[string]string{"proc/cpuinfo": flags, "sys/class/dmi/id/sys_vendor": "Amazon EC2"}, "Unheard-of  ", "KVM"},
		{"by clock", map[string]string{"proc/cpuinfo": flags,
			"sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hyperv_clocksource_tsc_page acpi_pm"}, "", "Hyper-V"},
		{"flag alone", map[string]string{"proc/cpuinfo": flags}, "", unknown},
		{"Xen guest", map[string]string{"proc/cpuinfo": flags, "sys/hypervisor/type": "xen\n"}, "", "Xen"},
		{"Xen dom0", map[string]string{"sys/hypervisor/type": "xen\n", "proc/xen/capabilities": "control_d\n"}, "", "Xen (this is dom0)"},
		{"UML", map[string]string{"proc/cpuinfo": "vendor_id : User Mode Linux\n"}, "", "User Mode Linux"},
		{"ARM guest", map[string]string{"proc/cpuinfo": "Features : fp asimd\n", "proc/device-tree/hypervisor/compatible": "linux,kvm\x00"}, "", "KVM"},
		{"ARM metal", map[string]string{"proc/cpuinfo": "Features : fp asimd\n"}, "", none},
	} {
		root := t.TempDir()
		for name, text := range c.files {
			put(t, root, name, text)
		}
		if c.leaf != "" { // at its offset in a file of holes
			put(t, root, cpuid, "")
			f, err := os.OpenFile(filepath.Join(root, cpuid), os.O_WRONLY, 0)
			must(t, err)
			_, err = f.WriteAt(append(binary.LittleEndian.AppendUint32(nil, 0x40000001), c.leaf...), 0x40000000)
			must(t, err)
			must(t, f.Close())
		}
		var f Facts
		must(t, readHypervisor(tree(root), &f))
		if f.Hypervisor != c.want {
			t.Errorf("%s: %q, want %q", c.name, f.Hypervisor, c.want)
		}
	}
}

func TestFormatCPUs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cpus := rapid.SliceOfDistinct(rapid.IntRange(0, 300), rapid.ID[int]).Draw(t, "cpus")
		text := formatCPUs(cpus)
		got, err := cgroup.ParseCPUList(text)
		if err != nil {
			t.Fatal(err)
		}
		if want := slices.Sorted(slices.Values(cpus)); !slices.Equal(got, want) {
			t.Fatalf("%v written %q reads %v", want, text, got)
		}
	})
	if got := formatCPUs([]int{8, 0, 1, 2, 3, 10, 11}); got != "0-3,8,10-11" {
		t.Errorf("formatted %q", got)
	}
}

func FuzzParseMounts(f *testing.F) {
	f.Add("27 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw\n")
	f.Add(`45 27 259:5 / /srv/my\040disk rw - xfs /dev/x` + "\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		mounts, err := parseMounts(text)
		if err != nil {
			return
		}
		for _, m := range mounts {
			if m.fstype == "" || m.at == "" {
				t.Fatalf("mount without type or place: %+v from %q", m, text)
			}
		}
		mountOf(mounts, "/var/lib")
	})
}

func FuzzUnescape(f *testing.F) {
	f.Add(`/srv/my\040disk`)
	f.Add(`\777\04`)
	f.Fuzz(func(t *testing.T, s string) {
		if got := unescape(s); len(got) > len(s) || !strings.Contains(s, `\`) && got != s {
			t.Fatalf("%q unescaped is %q", s, got)
		}
	})
}

// FuzzSources feeds one text to every parsed source.
func FuzzSources(f *testing.F) {
	f.Add("always [madvise] never")
	f.Add("0-3,8")
	f.Add("Max open files            20000                20000                files     ")
	f.Add("cpu  1 2 3 4 5 6 7 8")
	f.Add("Uid:\t0\t0\t0\t0\nCapEff:\tffff\nCpus_allowed_list:\t0")
	f.Add("48K")
	root := plant(f, "metal-v2")
	names := []string{"proc/self/status", "proc/self/limits", "proc/self/mountinfo", "proc/meminfo", "proc/cgroups",
		"proc/cpuinfo", "etc/os-release", "proc/sys/kernel/cap_last_cap", "sys/devices/system/cpu/online",
		"sys/devices/system/cpu/cpu0/cache/index3/size", "sys/devices/system/cpu/cpu0/cache/index3/shared_cpu_list",
		"sys/kernel/mm/transparent_hugepage/enabled", "proc/stat", "proc/loadavg"}
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range names {
			path := filepath.Join(root, name)
			good, err := os.ReadFile(path)
			must(t, err)
			must(t, os.WriteFile(path, []byte(text), 0o644))
			facts, err := Read(root, "/")
			must(t, err)
			if len(facts.Lines()) < 20 {
				t.Fatalf("%d lines", len(facts.Lines()))
			}
			if _, err := ReadLoad(context.Background(), root, 0); err == nil && name == "proc/stat" && !strings.HasPrefix(strings.TrimSpace(text), "cpu") {
				t.Fatalf("load read from %q", text)
			}
			must(t, os.WriteFile(path, good, 0o644))
		}
	})
}

func BenchmarkRead(b *testing.B) {
	for b.Loop() {
		if _, err := Read("/", "/var/lib/tare"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFindPrograms(b *testing.B) {
	for b.Loop() {
		FindPrograms(context.Background(), Programs(nil))
	}
}
