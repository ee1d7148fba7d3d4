package sched

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/host/proc"
)

// hierarchies are the mount points of control groups here, by their name in a scope.
func hierarchies(t testing.TB) map[string]string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("making control groups needs root")
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for line := range strings.Lines(string(mounts)) {
		switch f := strings.Fields(line); {
		case f[2] == "cgroup2":
			found["unified"] = f[1]
		case f[2] == "cgroup" && strings.Contains(","+f[3]+",", ",cpuacct,"):
			found["cpuacct"] = f[1]
		}
	}
	if len(found) == 0 {
		t.Skip("no control groups are mounted that account for CPU time")
	}
	return found
}

var made int // groups, so that their names differ

// grouped is a new control group in a hierarchy, and a reader of it.
func grouped(t testing.TB, hierarchy, mount string) (dir string, m *Meter, r *Reader) {
	t.Helper()
	made++
	dir = filepath.Join(mount, fmt.Sprintf("tare-sched-test-%d-%d", os.Getpid(), made))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		err := os.Remove(dir)
		for try := 0; err != nil && try < 100; try++ { // the last one is on its way out
			time.Sleep(10 * time.Millisecond)
			err = os.Remove(dir)
		}
		if err != nil {
			t.Error(err)
		}
	})
	m, err := Open("/proc")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { m.Close() })
	if r, err = m.Watch(bench.Scope{Cgroups: map[string]string{hierarchy: dir}}); err != nil {
		t.Fatal(err)
	}
	return dir, m, r
}

// inside is a command line that moves into the group first. The Perl program has one thread.
func inside(dir, program string) []string {
	return []string{"sh", "-c", `echo $$ > "$1"; exec perl -e "$2"`, "sh", filepath.Join(dir, "cgroup.procs"), program}
}

func command(argv []string) *exec.Cmd { return exec.Command(argv[0], argv[1:]...) }

func values(t testing.TB, r *Reader) map[string]float64 {
	t.Helper()
	v := make([]float64, len(r.Columns()))
	if err := r.Read(v); err != nil {
		t.Fatal(err)
	}
	m := map[string]float64{}
	for i, c := range r.Columns() {
		m[c] = v[i]
	}
	return m
}

// switches are how often a process was taken off its CPU, by its own count.
func switches(t *testing.T, pid int) (voluntary, other int) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		key, value, _ := strings.Cut(string(line), ":")
		n, _ := strconv.Atoi(strings.TrimSpace(value))
		switch key {
		case "voluntary_ctxt_switches":
			voluntary = n
		case "nonvoluntary_ctxt_switches":
			other = n
		}
	}
	return voluntary, other
}

// A process that sleeps so many times is put on a CPU as often.
func TestCountsTheSleepsOfAProcess(t *testing.T) {
	const sleeps = 300
	var hierarchy, mount string
	for hierarchy, mount = range hierarchies(t) {
		break
	}
	dir, _, r := grouped(t, hierarchy, mount)
	c := command(inside(dir, fmt.Sprintf(`$| = 1; print "up\n"; <STDIN>; select(undef, undef, undef, 0.001) for 1..%d; print "through\n"; <STDIN>`, sleeps)))
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Wait()
	defer in.Close()
	said := bufio.NewReader(out)
	hear := func(want string) {
		t.Helper()
		if got, err := said.ReadString('\n'); err != nil || got != want {
			t.Fatalf("it said %q, %v", got, err)
		}
	}
	hear("up\n")
	before := values(t, r)
	v0, n0 := switches(t, c.Process.Pid)
	io.WriteString(in, "go\n")
	hear("through\n")
	after := values(t, r)
	v1, n1 := switches(t, c.Process.Pid)

	grew := func(column string) float64 { return after[column] - before[column] }
	executions, taken, preempted := grew(bench.ColSchedExecutions), float64(v1-v0+n1-n0), float64(n1-n0)
	t.Logf("%d sleeps: %g executions, %g switches by its own count, %g of them preemptions; %.3f s on a CPU, %.3f s waiting",
		sleeps, executions, taken, preempted, grew(bench.ColSchedRun), grew(bench.ColSchedWait))
	if executions < sleeps || executions > sleeps+preempted+10 {
		t.Errorf("%g executions of a process that slept %d times and was preempted %g times", executions, sleeps, preempted)
	}
	if d := executions - taken; d < -4 || d > 4 { // it may be on its way to sleep at either reading
		t.Errorf("%g executions, but %g switches", executions, taken)
	}
	if grew(bench.ColSchedRun) <= 0 || grew(bench.ColSchedWait) < 0 {
		t.Errorf("%v s on a CPU, %v s waiting", grew(bench.ColSchedRun), grew(bench.ColSchedWait))
	}
}

const children, sleeps = 60, 5

// parent starts children that sleep, one after the other.
var parent = fmt.Sprintf(`for (1..%d) { if (!fork) { select(undef, undef, undef, 0.001) for 1..%d; exit } wait }`, children, sleeps)

// Nothing is lost of tasks that are gone before the second reading.
func TestCountsTasksThatEnded(t *testing.T) {
	for hierarchy, mount := range hierarchies(t) {
		t.Run(hierarchy, func(t *testing.T) {
			dir, m, r := grouped(t, hierarchy, mount)
			if err := m.Uncounted(); err != nil {
				t.Skipf("the ends of tasks cannot be watched here: %v", err)
			}
			if stats, err := ebpf.EnableStats(unix.BPF_STATS_RUN_TIME); err == nil {
				defer stats.Close()
			}
			before := values(t, r)
			c := command(inside(dir, parent))
			if out, err := c.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			after := values(t, r)
			usage := c.ProcessState.SysUsage().(*syscall.Rusage)
			grew := func(column string) float64 { return after[column] - before[column] }
			cpu := (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds()
			executions, taken := grew(bench.ColSchedExecutions), float64(usage.Nvcsw+usage.Nivcsw)
			t.Logf("%d children: %g executions, %g switches by their own count; %.4f s on a CPU of %.4f", children, executions, taken, grew(bench.ColSchedRun), cpu)
			if s, err := r.exits.program.Stats(); err == nil && s.RunCount > 0 {
				t.Logf("the program at the end of %d tasks of the whole host took %v each", s.RunCount, s.Runtime/time.Duration(s.RunCount))
			}
			if n := grew(bench.ColSchedExits); n != children+1 {
				t.Errorf("%g tasks ended, want %d", n, children+1)
			}
			if executions < children*(sleeps+1) {
				t.Errorf("%g executions of %d children that slept %d times each", executions, children, sleeps)
			}
			// An execution that ends with the task is not a switch in its own count yet.
			if d := executions - taken; d < -(children+1)*2 || d > (children+1)*2 {
				t.Errorf("%g executions, but %g switches", executions, taken)
			}
			if ran := grew(bench.ColSchedRun); ran <= 0 || ran > cpu+0.02 {
				t.Errorf("%v s on a CPU of %v", ran, cpu)
			}
		})
	}
}

// The kernel's own counter, which costs something at every switch, agrees.
func TestAgreesWithPerf(t *testing.T) {
	if _, err := exec.LookPath("perf"); err != nil {
		t.Fatal("perf, the second opinion, is not installed: ./test installs it")
	}
	for hierarchy, mount := range hierarchies(t) {
		dir, m, r := grouped(t, hierarchy, mount)
		if err := m.Uncounted(); err != nil {
			t.Skipf("the ends of tasks cannot be watched here: %v", err)
		}
		said := filepath.Join(t.TempDir(), "perf")
		before := values(t, r)
		if out, err := command(append([]string{"perf", "stat", "-x", ",", "-e", "context-switches", "-o", said, "--"}, inside(dir, parent)...)).CombinedOutput(); err != nil {
			t.Skipf("perf cannot count here: %v: %s", err, out)
		}
		after := values(t, r)
		b, err := os.ReadFile(said)
		if err != nil {
			t.Fatal(err)
		}
		switches := -1.0
		for line := range strings.Lines(string(b)) {
			if count, _, ok := strings.Cut(line, ","); ok && strings.Contains(line, "context-switches") {
				if switches, err = strconv.ParseFloat(count, 64); err != nil {
					t.Skipf("perf counts no switches here: %s", line)
				}
			}
		}
		executions := after[bench.ColSchedExecutions] - before[bench.ColSchedExecutions]
		exits := after[bench.ColSchedExits] - before[bench.ColSchedExits]
		t.Logf("%s: %g executions, of them %g ended with their task; perf counts %g switches: %+.2f %%", hierarchy, executions, exits, switches, 100*((executions-exits)/switches-1))
		// perf lets go of a task before its last switch; its first may be before perf is there.
		if d := executions - exits - switches; d < -children || d > children {
			t.Errorf("%s: %g executions, of them %g the last of a task, but perf counts %g switches", hierarchy, executions, exits, switches)
		}
		break
	}
}

// Where ends are not counted, what was read of a task stands, and a later task of its number is another.
func TestSumsNeverFall(t *testing.T) {
	for _, v := range []struct{ hierarchy, list, usage, cpu string }{
		{"cpuacct", "tasks", "cpuacct.usage", "1500000000\n"},
		{"unified", "cgroup.threads", "cpu.stat", "usage_usec 1500000\nuser_usec 1\n"},
	} {
		dir, procs := t.TempDir(), t.TempDir()
		write := func(path, text string) {
			t.Helper()
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		put := func(tid int, name string, start, ran, waited, executions int) {
			d := filepath.Join(procs, strconv.Itoa(tid), "task", strconv.Itoa(tid))
			write(filepath.Join(d, "schedstat"), fmt.Sprintln(ran, waited, executions))
			write(filepath.Join(d, "stat"), fmt.Sprintf("%d (%s) S 1 2 3 0 -1 64 5 6 7 8 9 10 11 12 20 0 3 0 %d 1234\n", tid, name, start))
		}
		write(filepath.Join(dir, v.usage), v.cpu)
		write(filepath.Join(dir, v.list), "10\n11\n")
		write(filepath.Join(dir, "below", v.list), "12\n99\n") // the last is gone
		put(10, "main", 1, 5, 2e9, 100)
		put(11, "CPU 0/KVM", 1, 1e9, 1e9, 20)
		put(12, "CPU 1/KVM", 1, 3e9, 0, 3)
		g, _, err := groupOf(map[string]string{v.hierarchy: dir})
		if err != nil {
			t.Fatal(err)
		}
		r := &Reader{proc: procs, group: g, columns: append(columns[:len(columns):len(columns)], vcpuColumns...), threads: &bench.Threads{VCPU: []string{"CPU */*"}}, last: map[key]proc.Sched{}}
		got := values(t, r)
		for column, want := range map[string]float64{bench.ColSchedExecutions: 123, bench.ColSchedRun: 1.5, bench.ColSchedWait: 3,
			bench.ColSchedVCPUExecutions: 23, bench.ColSchedVCPURun: 4, bench.ColSchedVCPUWait: 1} {
			if got[column] != want {
				t.Errorf("%s: %s is %v, want %v", v.hierarchy, column, got[column], want)
			}
		}
		if exits := got[bench.ColSchedExits]; exits == exits {
			t.Errorf("%s: %v tasks ended, which nobody counted", v.hierarchy, exits)
		}
		put(10, "other", 7, 5, 1, 4)
		if got := values(t, r); got[bench.ColSchedExecutions] != 127 {
			t.Errorf("%s: %v executions after a task ended, want 127", v.hierarchy, got[bench.ColSchedExecutions])
		}
	}
}

func TestRefusals(t *testing.T) {
	m := &Meter{proc: "/proc", exits: map[bool]*exits{}}
	for want, s := range map[string]bench.Scope{
		"counted by Xen":   {Domain: 3, Cgroups: map[string]string{"unified": "/"}},
		"no control group": {Cgroups: map[string]string{"memory": "/"}},
		"no such file":     {Cgroups: map[string]string{"cpuacct": "/nowhere"}},
	} {
		if _, err := m.Watch(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want one that says %q", s, err, want)
		}
	}
	none := t.TempDir()
	if err := os.Mkdir(filepath.Join(none, "self"), 0o755); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{"0 0 0\n": "keeps no count", "x\n": "is not a number", "": "0 of 3"} {
		if err := os.WriteFile(filepath.Join(none, "self/schedstat"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(none); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want one that says %q", text, err, want)
		}
	}
}

// BenchmarkRead reads a group with one task; a window costs that twice for each instance.
func BenchmarkRead(b *testing.B) {
	for hierarchy, mount := range hierarchies(b) {
		b.Run(hierarchy, func(b *testing.B) {
			dir, _, r := grouped(b, hierarchy, mount)
			c := command(inside(dir, `sleep 1000`))
			if err := c.Start(); err != nil {
				b.Fatal(err)
			}
			defer c.Wait()
			defer c.Process.Kill()
			v := make([]float64, len(r.Columns()))
			for b.Loop() {
				if err := r.Read(v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkManyGroups reads a hundred groups of three processes each, a second after
// the reading before, when the caches hold something else. It tells the CPU time.
func BenchmarkManyGroups(b *testing.B) {
	for hierarchy, mount := range hierarchies(b) {
		b.Run(hierarchy, func(b *testing.B) {
			var readers []*Reader
			for range 100 {
				dir, _, r := grouped(b, hierarchy, mount)
				for range 3 {
					c := command(inside(dir, `sleep 1000`))
					if err := c.Start(); err != nil {
						b.Fatal(err)
					}
					defer c.Wait()
					defer c.Process.Kill()
				}
				readers = append(readers, r)
			}
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			cpu, v := 0.0, make([]float64, len(columns))
			for b.Loop() {
				b.StopTimer()
				time.Sleep(time.Second)
				b.StartTimer()
				before := threadCPU(b)
				for _, r := range readers {
					if err := r.Read(v); err != nil {
						b.Fatal(err)
					}
				}
				cpu += threadCPU(b) - before
			}
			b.ReportMetric(1e3*cpu/float64(b.N), "ms-of-cpu/op")
		})
	}
}

func threadCPU(t testing.TB) float64 {
	t.Helper()
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		t.Fatal(err)
	}
	return float64(ts.Nano()) / 1e9
}
