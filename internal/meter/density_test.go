package meter

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host/clock"
)

const meminfo = `MemTotal:       10000 kB
MemFree:         4000 kB
MemAvailable:    7000 kB
Buffers:          500 kB
Cached:          2000 kB
Shmem:            100 kB
SReclaimable:     300 kB
SwapTotal:          0 kB
SwapFree:           0 kB
`

const rollup = "5623-7ffc ---p 00000000 00:00 0 [rollup]\nRss:                %d kB\nPss:                 %d kB\nPss_Dirty: 1 kB\n"

// nobody is above every number a process can have.
const nobody = 1<<22 + 7

func TestCensusOfBothVersionsOfControlGroups(t *testing.T) {
	const mib = float64(bench.MiB)
	proc := tree(t, map[string]string{
		"meminfo":                                meminfo,
		fmt.Sprintf("%d/smaps_rollup", nobody+1): fmt.Sprintf(rollup, 2048, 1024),
		fmt.Sprintf("%d/smaps_rollup", nobody+2): fmt.Sprintf(rollup, 4096, 3072),
		fmt.Sprintf("%d/smaps_rollup", nobody+3): "", // a zombie
		fmt.Sprintf("%d/smaps_rollup", nobody+4): fmt.Sprintf(rollup, 10240, 5120),
	})
	sys := tree(t, map[string]string{"kernel/mm/ksm/pages_sharing": "3\n"})
	groups := tree(t, map[string]string{
		"v1/memory.usage_in_bytes": "8388608\n",
		"v1/memory.stat":           "cache 1\ntotal_cache 4194304\ntotal_shmem 1048576\n",
		"v1/cgroup.procs":          fmt.Sprintf("%d\n", nobody+1),
		"v1/inner/cgroup.procs":    fmt.Sprintf("%d\n%d\n", nobody+2, nobody+9), // the last has ended
		"v1cpu/cpuacct.usage":      "1500000000\n",
		"v2/memory.current":        "2097152\n",
		"v2/memory.stat":           "anon 5\nfile 1048576\nshmem 0\n",
		"v2/cgroup.procs":          fmt.Sprintf("%d\n", nobody+3),
		"v2/cpu.stat":              "usage_usec 250000\nuser_usec 1\n",
	})
	scopes := []bench.Scope{
		{Cgroups: map[string]string{"memory": filepath.Join(groups, "v1"), "cpuacct": filepath.Join(groups, "v1cpu")},
			Shared: []bench.Process{{PID: nobody + 4, Part: "daemon"}}},
		{Cgroups: map[string]string{"unified": filepath.Join(groups, "v2")},
			Helpers: []bench.Process{{PID: nobody + 2, Part: "vmm", Inside: true}}, // in the other's group already
			Shared:  []bench.Process{{PID: nobody + 4, Part: "daemon"}}},
	}
	c, err := Census(proc, sys, scopes)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{
		bench.DensityRSS: 16 * mib, bench.DensityPSS: 9 * mib,
		bench.DensityCgroup: 10 * mib, bench.DensityCgroupHeld: 6 * mib,
		bench.DensityAvailable: 3000 * 1024, bench.DensityUsed: 3300 * 1024,
	} {
		if c.Memory[name] != want {
			t.Errorf("%s is %v, want %v", name, c.Memory[name], want)
		}
	}
	if !c.Known || c.CPU != 1.75 || c.Processes != 5 || c.Merged != float64(3*os.Getpagesize()) {
		t.Errorf("%+v", c)
	}
}

// What one instance lacks is not said of the crowd.
func TestCensusLeavesOutWhatIsNotKnown(t *testing.T) {
	proc := tree(t, map[string]string{"meminfo": meminfo})
	groups := tree(t, map[string]string{"a/memory.current": "1\n", "a/memory.stat": "file 0\nshmem 0\n", "a/cpu.stat": "usage_usec 1\n", "b/pids.current": "1\n"})
	of := func(name string) bench.Scope {
		return bench.Scope{Cgroups: map[string]string{"unified": filepath.Join(groups, name)}}
	}
	c, err := Census(proc, proc, []bench.Scope{of("a"), of("b"), of("gone")})
	if err != nil {
		t.Fatal(err)
	}
	if _, known := c.Memory[bench.DensityCgroup]; known || c.Known {
		t.Errorf("%+v", c)
	}
	domain := of("a")
	domain.Domain = 3
	if c, err := Census(proc, proc, []bench.Scope{of("a"), domain}); err != nil || len(c.Memory) > 0 {
		t.Errorf("of a domain is said %v, %v", c.Memory, err)
	}
	if _, err := Census(tree(t, map[string]string{"meminfo": "MemTotal: many kB\n"}), proc, nil); err == nil {
		t.Error("a meminfo without numbers is read")
	}
}

// Threads of several processes over one memory count once (vfork shares it until the child executes).
func TestDistinctMemories(t *testing.T) {
	if order(os.Getpid(), unix.Getppid()) == os.Getpid()-unix.Getppid() {
		if _, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(os.Getpid()), uintptr(unix.Getppid()), kcmpVM, 0, 0, 0); errno != 0 {
			t.Skipf("the kernel does not compare processes: %v", errno)
		}
	}
	var pids []int
	for range 3 {
		c := exec.Command("sleep", "60")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Process.Kill(); c.Wait() })
		pids = append(pids, c.Process.Pid)
	}
	// A thread's number stands for its process's memory, as that of a CLONE_VM child does.
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil || len(tasks) < 2 {
		t.Fatalf("%v, %v", tasks, err)
	}
	all := append(slices.Clone(pids), os.Getpid())
	for _, x := range tasks {
		var tid int
		if fmt.Sscan(x.Name(), &tid); tid != os.Getpid() {
			all = append(all, tid)
		}
	}
	got := distinct(all)
	if len(got) != 4 {
		t.Errorf("of 3 processes and %d threads of this one %v are left", len(tasks), got)
	}
	for _, pid := range pids {
		if !slices.Contains(got, pid) {
			t.Errorf("%d is missing in %v", pid, got)
		}
	}
}

func TestQuietOfBothVersions(t *testing.T) {
	dir := tree(t, map[string]string{
		"v1/memory.usage_in_bytes": "4096\n", "v1/cpuacct.usage": "2000000000\n",
		"v2/memory.current": "8192\n", "v2/cpu.stat": "usage_usec 500000\n",
		"bad/memory.current": "many\n", "bad/cpu.stat": "usage_usec 1\n",
		"half/memory.current": "12288\n", "none/x": "",
	})
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, c := range map[string]struct {
		groups      map[string]string
		cpu, memory float64
	}{
		"v1":     {map[string]string{"memory": at("v1"), "cpuacct": at("v1")}, 2, 4096},
		"v2":     {map[string]string{"unified": at("v2")}, 0.5, 8192},
		"hybrid": {map[string]string{"memory": at("v1"), "unified": at("v2")}, 0.5, 4096},
		"half":   {map[string]string{"unified": at("half")}, math.NaN(), 12288},
	} {
		q, err := OpenQuiet(bench.Scope{Cgroups: c.groups})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		v := read(t, q)
		if got := v[bench.ColCPUBusy]; got != c.cpu && !(math.IsNaN(got) && math.IsNaN(c.cpu)) || v[bench.ColMemCharged] != c.memory {
			t.Errorf("%s: %v", name, v)
		}
		q.Close()
	}
	if q, err := OpenQuiet(bench.Scope{Cgroups: map[string]string{"unified": at("none")}}); err == nil {
		t.Errorf("%+v of no file", q)
	}
	q, err := OpenQuiet(bench.Scope{Cgroups: map[string]string{"unified": at("bad")}})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	v := []float64{1, 1, 1}
	if err := q.Read(v); err == nil || v[0] != 1e-6 || !math.IsNaN(v[1]) {
		t.Errorf("%v, %v", v, err)
	}
}

// The time of a process that serves it from outside counts, also once it has ended.
func TestQuietCountsHelpers(t *testing.T) {
	dir := tree(t, map[string]string{"cpu.stat": "usage_usec 0\n", "memory.current": "0\n"})
	c := exec.Command("sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; exec sleep 60")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Wait()
	defer c.Process.Kill()
	q, err := OpenQuiet(bench.Scope{Cgroups: map[string]string{"unified": dir}, Helpers: []bench.Process{
		{PID: c.Process.Pid, Part: "shim"}, {PID: os.Getpid(), Part: "kernel", Inside: true}}})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	var spent float64
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end) && spent < 0.005; time.Sleep(5 * time.Millisecond) {
		spent = read(t, q)[bench.ColCPUBusy]
	}
	rss := read(t, q)[bench.ColMemRSS]
	c.Process.Kill()
	c.Wait()
	after := read(t, q)
	if spent < 0.005 || after[bench.ColCPUBusy] < spent {
		t.Errorf("%v s while it lived, %v s afterwards", spent, after[bench.ColCPUBusy])
	}
	if rss < float64(os.Getpagesize()) || after[bench.ColMemRSS] != 0 {
		t.Errorf("%v bytes while it lived, %v afterwards", rss, after[bench.ColMemRSS])
	}
}

func FuzzRollup(f *testing.F) {
	f.Add([]byte(fmt.Sprintf(rollup, 1, 2)))
	f.Add([]byte("Rss: 99999999999999999999 kB\nPss: x\n"))
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, b []byte) {
		rss, pss, err := parseRollup(b)
		if err == nil && (rss < 0 || pss < 0) {
			t.Errorf("%v, %v of %q", rss, pss, b)
		}
	})
}

// BenchmarkQuiet reads crowds of 1, 10, 50 and 100 control groups as a second's
// tick does, and reports the share of a core that this takes once a second:
//
//	go test ./internal/meter -run none -bench Quiet
func BenchmarkQuiet(b *testing.B) {
	groups := hostGroups(b, 100)
	for _, n := range []int{1, 10, 50, 100} {
		b.Run(fmt.Sprintf("instances=%d", n), func(b *testing.B) {
			var crowd []*Quiet
			for _, g := range groups[:n] {
				q, err := OpenQuiet(bench.Scope{Cgroups: g})
				if err != nil {
					b.Fatal(err)
				}
				defer q.Close()
				crowd = append(crowd, q)
			}
			v := make([]float64, len(quietColumns))
			runtime.LockOSThread() // whose CPU time is taken
			defer runtime.UnlockOSThread()
			began := clock.ThreadCPU()
			for b.Loop() {
				for _, q := range crowd {
					if err := q.Read(v); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(clock.ThreadCPU()-began)/1e7/float64(b.N), "%core")
		})
	}
}

// hostGroups makes n control groups for the benchmark, in every hierarchy that accounts.
func hostGroups(b *testing.B, n int) []map[string]string {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		b.Fatal(err)
	}
	cpuacct, unified := cgroupRoots(mounts)
	tops := map[string]string{"unified": unified}
	if cpuacct != "" {
		tops = map[string]string{"cpuacct": cpuacct, "memory": filepath.Join(filepath.Dir(cpuacct), "memory")}
	}
	var all []map[string]string
	for i := range n {
		g := map[string]string{}
		for name, top := range tops {
			dir := filepath.Join(top, fmt.Sprintf("tare-bench-%d-%d", os.Getpid(), i))
			if err := os.Mkdir(dir, 0o755); err != nil {
				b.Skipf("no control group can be made: %v", err)
			}
			b.Cleanup(func() { os.Remove(dir) })
			g[name] = dir
		}
		all = append(all, g)
	}
	return all
}
