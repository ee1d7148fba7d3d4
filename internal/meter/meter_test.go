package meter

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
)

func read(t *testing.T, r bench.Reader) map[string]float64 {
	t.Helper()
	v := make([]float64, len(r.Columns()))
	if err := r.Read(v); err != nil {
		t.Fatalf("read %s: %v", r.Meter(), err)
	}
	m := map[string]float64{}
	for i, c := range r.Columns() {
		m[c] = v[i]
	}
	return m
}

func TestProcCountsUp(t *testing.T) {
	r, err := OpenProc("/proc", "/sys")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	a := read(t, r)
	for end := time.Now().Add(50 * time.Millisecond); time.Now().Before(end); {
	}
	b := read(t, r)
	if b[bench.ColCPUBusy] <= a[bench.ColCPUBusy] {
		t.Errorf("busy time went from %v to %v while spinning", a[bench.ColCPUBusy], b[bench.ColCPUBusy])
	}
	for c := range a {
		if !strings.HasPrefix(c, "mem_") && b[c] < a[c] {
			t.Errorf("counter %s fell from %v to %v", c, a[c], b[c])
		}
	}
}

// tree writes files below a new directory.
func tree(t *testing.T, files map[string]string) string {
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestCgroupV2(t *testing.T) {
	dir := tree(t, map[string]string{
		"cpu.stat":    "usage_usec 2500000\nuser_usec 2000000\nsystem_usec 500000\nnice_usec 0\n",
		"memory.stat": "anon 1048576\nfile 2097152\nkernel 4096\nshmem 8192\n",
		"io.stat":     "254:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n8:0 rbytes=1 wbytes=1 rios=1 wios=1\n",
	})
	r, err := OpenCgroup(map[string]string{"unified": dir})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	want := map[string]float64{
		bench.ColCPUBusy: 2.5, bench.ColCPUUser: 2, bench.ColCPUSystem: .5,
		bench.ColMemUsed: 1048576, bench.ColMemCache: 2097152, bench.ColMemShared: 8192,
		bench.ColDiskRead: 4097, bench.ColDiskWrite: 8193, bench.ColDiskReadOps: 2, bench.ColDiskWriteOps: 3,
	}
	got := read(t, r)
	for c, w := range want {
		if math.Abs(got[c]-w) > 1e-9 {
			t.Errorf("%s = %v, want %v", c, got[c], w)
		}
	}
}

// On a hybrid host v1 has the controllers and the unified group only the CPU time.
func TestCgroupHybrid(t *testing.T) {
	dir := tree(t, map[string]string{
		"cpuacct/cpuacct.usage":                           "1500000000\n",
		"cpuacct/cpuacct.stat":                            "user 100\nsystem 50\n",
		"memory/memory.stat":                              "cache 1\nrss 2\nshmem 3\ntotal_cache 10\ntotal_rss 20\ntotal_shmem 30\n",
		"blkio/blkio.throttle.io_service_bytes_recursive": "254:0 Read 512\n254:0 Write 1024\n254:0 Sync 1\nTotal 1536\n",
		"blkio/blkio.throttle.io_serviced_recursive":      "254:0 Read 1\n254:0 Write 2\nTotal 3\n",
		"unified/cpu.stat":                                "usage_usec 1\nuser_usec 1\nsystem_usec 0\n",
	})
	dirs := map[string]string{}
	for _, c := range []string{"cpuacct", "memory", "blkio", "unified"} {
		dirs[c] = filepath.Join(dir, c)
	}
	r, err := OpenCgroup(dirs)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got := read(t, r)
	for c, w := range map[string]float64{
		bench.ColCPUBusy: 1.5, bench.ColCPUUser: 1, bench.ColCPUSystem: .5, bench.ColMemUsed: 20, bench.ColMemCache: 10, bench.ColMemShared: 30,
		bench.ColDiskRead: 512, bench.ColDiskWrite: 1024, bench.ColDiskReadOps: 1, bench.ColDiskWriteOps: 2,
	} {
		if got[c] != w {
			t.Errorf("%s = %v, want %v", c, got[c], w)
		}
	}
}

// A kernel that counts no traffic, as its root group shows, leaves it missing; one
// that does shows an empty file for a group without any.
func TestCgroupTrafficThatIsNotCounted(t *testing.T) {
	for root, want := range map[string]float64{"Total 0\n": math.NaN(), "254:0 Read 512\n254:0 Write 0\nTotal 512\n": 0} {
		dir := tree(t, map[string]string{
			blkioBytes: root, "a/" + blkioBytes: "", "a/b/" + blkioBytes: "", "a/b/blkio.throttle.io_serviced_recursive": "",
			"a/b/cpuacct.usage": "1\n", "a/b/cpuacct.stat": "user 1\nsystem 1\n",
		})
		group := filepath.Join(dir, "a/b")
		r, err := OpenCgroup(map[string]string{"blkio": group, "cpuacct": group})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if got := read(t, r)[bench.ColDiskRead]; got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("root %q: %v, want %v", root, got, want)
		}
	}
}

func TestCgroupMissingIsNaN(t *testing.T) {
	dir := tree(t, map[string]string{"cpu.stat": "usage_usec 1\nuser_usec 1\nsystem_usec 0\n"})
	r, err := OpenCgroup(map[string]string{"unified": dir})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got := read(t, r)[bench.ColMemUsed]; !math.IsNaN(got) {
		t.Errorf("memory of a group without the controller is %v, want NaN", got)
	}
	if _, err := OpenCgroup(map[string]string{"unified": t.TempDir()}); err == nil {
		t.Error("a group without any accounting was accepted")
	}
}

func TestCgroupBadText(t *testing.T) {
	for file, text := range map[string]string{
		"cpu.stat": "usage_usec many\n", "memory.stat": "anon 1\n", "io.stat": "8:0 rbytes=x\n",
	} {
		r, err := OpenCgroup(map[string]string{"unified": tree(t, map[string]string{file: text})})
		if err != nil {
			t.Fatal(err)
		}
		v := make([]float64, len(r.Columns()))
		if err := r.Read(v); err == nil {
			t.Errorf("%s %q was accepted", file, text)
		}
		r.Close()
	}
}

// A helper's CPU time is counted, and stays counted after it has ended.
func TestHelpers(t *testing.T) {
	cmd := exec.Command("sh", "-c", "while :; do :; done")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	r, err := OpenHelpers("/proc", []bench.Process{{PID: cmd.Process.Pid, Part: "shim"}, {PID: os.Getpid(), Part: "vmm"}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, c := range []string{"cpu_shim_s", "cpu_vcpu_s", "cpu_iothread_s", "cpu_vmm_s", bench.ColMemRSS} {
		if !slices.Contains(r.Columns(), c) {
			t.Errorf("no column %s in %v", c, r.Columns())
		}
	}
	if err := os.WriteFile(filepath.Join(t.TempDir(), "written"), make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
	a := read(t, r)
	if a[bench.WrittenOf("vmm")] < 1<<20 || a[bench.WrittenOf("shim")] != 0 {
		t.Errorf("disk: %v", a)
	}
	if a["cpu_shim_s"] <= 0 || a["cpu_vmm_s"] <= 0 || a[bench.ColMemRSS] <= 0 {
		t.Errorf("nothing counted: %v", a)
	}
	cmd.Process.Kill()
	cmd.Wait()
	b := read(t, r)
	if b["cpu_shim_s"] < a["cpu_shim_s"] {
		t.Errorf("time fell from %v to %v when the helper ended", a["cpu_shim_s"], b["cpu_shim_s"])
	}
	if _, err := OpenHelpers("/proc", []bench.Process{{PID: cmd.Process.Pid, Part: "shim"}}); err == nil {
		t.Error("a process that has ended was accepted")
	}
}

type here struct{}

func (here) Do(f func() error) error { return f() }

func TestDevices(t *testing.T) {
	r, err := OpenDevices(here{}, []string{"lo"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got := read(t, r); math.IsNaN(got[bench.ColNetRx]) || got[bench.ColNetRx] != got[bench.ColNetTx] {
		t.Errorf("lo received %v and sent %v", got[bench.ColNetRx], got[bench.ColNetTx])
	}
	gone, err := OpenDevices(here{}, []string{"no-such-device"})
	if err != nil {
		t.Fatal(err)
	}
	defer gone.Close()
	if gone.Read(make([]float64, 4)) == nil {
		t.Error("a device that does not exist was read")
	}
}

// What one tick of each level costs the observer.
func BenchmarkHost(b *testing.B) {
	r, err := OpenProc("/proc", "/sys")
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	benchmark(b, r)
}

func BenchmarkHelpers(b *testing.B) {
	r, err := OpenHelpers("/proc", []bench.Process{{PID: 1, Part: "daemon"}, {PID: os.Getpid(), Part: "vmm"}})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	benchmark(b, r)
}

func benchmark(b *testing.B, r bench.Reader) {
	v := make([]float64, len(r.Columns()))
	b.ReportAllocs()
	for b.Loop() {
		if err := r.Read(v); err != nil {
			b.Fatal(err)
		}
	}
}

// A task that spins is in the CPU time of all tasks, and so is this process.
func TestTasks(t *testing.T) {
	r, err := OpenTasks("/proc")
	if err != nil {
		t.Skip(err)
	}
	defer r.Close()
	a := read(t, r)
	for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); {
	}
	b := read(t, r)
	own, all := b[bench.ColObserver]-a[bench.ColObserver], b[bench.ColCPUTasks]-a[bench.ColCPUTasks]
	const tick = 0.02 // of all CPUs, that a running task's time may be old
	if own <= 0 || all+tick < own {
		t.Errorf("this process ran %v s, all tasks together %v s", own, all)
	}
}

func TestTasksOfV2(t *testing.T) {
	dir := tree(t, map[string]string{
		"root/a/cpu.stat": "usage_usec 1500000\nuser_usec 1\nsystem_usec 1\n", "root/a/below/cpu.stat": "usage_usec 7\n",
		"root/b/cpu.stat": "usage_usec 2000000\n", "root/cpu.stat": "usage_usec 99999999\n", "root/cgroup.procs": "",
	})
	mounts := "cgroup2 " + filepath.Join(dir, "root") + " cgroup2 rw 0 0\n"
	procDir := tree(t, map[string]string{"self/mounts": mounts})
	r, err := OpenTasks(procDir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got := read(t, r)[bench.ColCPUTasks]; got != 3.5 {
		t.Errorf("two groups: %v, want 3.5", got)
	}
	if err := os.RemoveAll(filepath.Join(dir, "root/b")); err != nil {
		t.Fatal(err)
	}
	// The time of a group that is gone stays counted.
	for range 2 {
		if got := read(t, r)[bench.ColCPUTasks]; got < 3.5 {
			t.Errorf("after a group ended: %v", got)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "root/a/cpu.stat"), []byte("usage_usec many\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r.Read(make([]float64, 2)) == nil {
		t.Error("a usage that is not a number was accepted")
	}
}

func TestCgroupRoots(t *testing.T) {
	for mounts, want := range map[string][2]string{
		"cgroup /c/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\ncgroup2 /c/unified cgroup2 rw 0 0\n": {"/c/cpu,cpuacct", "/c/unified"},
		"cgroup2 /c cgroup2 rw,nosuid 0 0\n":                                                   {"", "/c"},
		"tmpfs /cpuacct tmpfs rw,cpuacct 0 0\nshort\n":                                         {"", ""},
	} {
		if v1, v2 := cgroupRoots([]byte(mounts)); v1 != want[0] || v2 != want[1] {
			t.Errorf("%q: %q and %q", mounts, v1, v2)
		}
	}
}

// The sum over threads is the same whatever their order, so it never falls.
func TestSumsOfThreadsDoNotDependOnTheirOrder(t *testing.T) {
	m := vmm{threads: map[string]*thread{}, past: map[string]int64{"vcpu": nanoseconds(0.1)}}
	for i := range 20 {
		m.threads[string(rune('a'+i))] = &thread{part: "vcpu", last: nanoseconds(0.1 + 0.07*float64(i))}
	}
	first := m.sum("vcpu")
	for range 50 {
		if s := m.sum("vcpu"); s != first {
			t.Fatalf("%v and %v", first, s)
		}
	}
}
