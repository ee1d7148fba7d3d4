package platformtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
)

// testCPUs asks inside how many CPUs there are, and on the host where the
// instance's processes may run: of the given instance, one on another CPU and one on two.
func testCPUs(t *testing.T, s *suite, b *box) {
	all := CPUs(t)
	s.placed(t, b, all[:1])
	for _, cpus := range [][]int{all[len(all)-1:], all[:min(2, len(all))]} {
		if s.o.MostCPUs > 0 && len(cpus) > s.o.MostCPUs {
			t.Logf("on CPUs %v: the platform's instances have at most %d", cpus, s.o.MostCPUs)
			continue
		}
		shape := s.o.Shape
		shape.CPUs = len(cpus)
		other := s.startAs(t, s.launch(t, shape, slices.Sorted(slices.Values(cpus))))
		s.placed(t, other, cpus)
		s.close(t, other)
	}
}

// placed fails the test unless the instance is on these CPUs.
func (s *suite) placed(t *testing.T, b *box, cpus []int) {
	t.Helper()
	cpus = slices.Sorted(slices.Values(cpus))
	b.enforces(t, "cpu set")
	if got := s.succeed(t, b, "nproc"); got != strconv.Itoa(len(cpus))+"\n" {
		t.Errorf("on CPUs %v: nproc says %q", cpus, got)
	}
	if n := len(b.agent.Hello().CPUs); n != len(cpus) {
		t.Errorf("on CPUs %v: the agent sees %d", cpus, n)
	}
	for pid, list := range allowed(t, s.scope(t, b)) {
		if got, err := cgroup.ParseCPUList(list); err != nil || fmt.Sprint(got) != fmt.Sprint(cpus) {
			t.Errorf("on CPUs %v: process %d may run on %s, %v", cpus, pid, list, err)
		}
	}
}

// allowed is where the processes in the instance's cgroup may run, as the host says.
func allowed(t *testing.T, scope bench.Scope) map[int]string {
	t.Helper()
	lists := map[int]string{}
	pids, err := victims(bench.Scope{Cgroups: scope.Cgroups}, "no mark")
	if err != nil || len(pids) == 0 {
		t.Fatalf("no process in the instance's cgroups, %v", err)
	}
	for _, pid := range pids {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			continue // it ended
		}
		_, list, _ := strings.Cut(string(status), "Cpus_allowed_list:")
		list, _, _ = strings.Cut(list, "\n")
		lists[pid] = strings.TrimSpace(list)
	}
	return lists
}

// testCPUQuota spins for two seconds with half a CPU. The bounds are wide, for
// neighbours take CPU time too, and a period may be overrun. Where neighbours took nearly
// all it spins again: a quota that is too low never lets it have its share.
func testCPUQuota(t *testing.T, s *suite) {
	shape := s.o.Shape
	shape.CPUQuota = 0.5
	b := s.startAs(t, s.launch(t, shape, CPUs(t)[:1]))
	b.enforces(t, "cpu quota")
	for deadline := time.Now().Add(s.slow(30 * time.Second)); ; {
		share := s.spin(t, b)
		switch {
		case share > 0.7:
			t.Errorf("used %.2f CPUs, want 0.5", share)
			return
		case share >= 0.1:
			return
		case time.Now().After(deadline):
			t.Errorf("used %.2f CPUs, want 0.5, again and again", share)
			return
		}
	}
}

// spin keeps the instance busy for two seconds and returns how many CPUs it had.
func (s *suite) spin(t *testing.T, b *box) float64 {
	t.Helper()
	scope := s.scope(t, b)
	before, began := cpuUsed(t, scope), time.Now()
	out := s.exec(t, b, "timeout", "2", "sh", "-c", "while :; do :; done")
	used, wall := cpuUsed(t, scope)-before, time.Since(began)
	if out.Exit != 124 {
		t.Errorf("the spinner ended with %d: %s", out.Exit, out.Stderr)
	}
	t.Logf("used %v of CPU in %v", used, wall)
	return used.Seconds() / wall.Seconds()
}

// cpuUsed is the CPU time of the instance's cgroup.
func cpuUsed(t *testing.T, scope bench.Scope) time.Duration {
	t.Helper()
	if dir := scope.Cgroups["cpuacct"]; dir != "" {
		ns, err := strconv.ParseInt(read(t, filepath.Join(dir, "cpuacct.usage")), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return time.Duration(ns)
	}
	if dir := scope.Cgroups[cgroup.Unified]; dir != "" {
		for line := range strings.Lines(read(t, filepath.Join(dir, "cpu.stat"))) {
			if f := strings.Fields(line); f[0] == "usage_usec" {
				us, err := strconv.ParseInt(f[1], 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				return time.Duration(us) * time.Microsecond
			}
		}
	}
	t.Fatalf("no cgroup counts the CPU time: %+v", scope)
	return 0
}

// testMemoryLimit fills one and a half times the memory there is: the program
// fails or is killed, and the instance and the host go on.
func testMemoryLimit(t *testing.T, s *suite) {
	b := s.start(t)
	b.enforces(t, "memory limit")
	size := strconv.FormatInt(int64(s.o.Shape.Memory)*3/2, 10)
	out := s.exec(t, b, "dd", "if=/dev/zero", "of=/dev/null", "bs="+size, "count=1")
	if out.Exit == 0 || out.TimedOut {
		t.Errorf("filled %s bytes of %v: exit %d, timed out %t, %s", size, s.o.Shape.Memory, out.Exit, out.TimedOut, out.Stderr)
	}
	if scope := s.scope(t, b); scope.Cgroups["memory"] != "" {
		dir, room := scope.Cgroups["memory"], 512*bench.MiB
		if scope.Inner != nil {
			room += bench.GiB // the outer guest's own
		}
		most, err := strconv.ParseInt(read(t, filepath.Join(dir, "memory.max_usage_in_bytes")), 10, 64)
		// A monitor needs memory beyond its guest's, for which drivers allow a little.
		if err != nil || bench.Bytes(most) > s.o.Shape.Memory+room {
			t.Errorf("used %v of %v, %v", bench.Bytes(most), s.o.Shape.Memory, err)
		}
	}
	// Half of it is to be had.
	half := strconv.FormatInt(int64(s.o.Shape.Memory)/2, 10)
	s.succeed(t, b, "dd", "if=/dev/zero", "of=/dev/null", "bs="+half, "count=1")
}

// testDiskRate reads back the limit the kernel holds the instance to. How fast
// its disk then is says nothing: a program may write to memory.
func testDiskRate(t *testing.T, s *suite) {
	shape := s.o.Shape
	shape.DiskIOPS, shape.DiskBandwidth = 475, 47*bench.MiB
	b := s.startAs(t, s.launch(t, shape, CPUs(t)[:1]))
	b.enforces(t, cgroup.DiskRate)
	for what, limits := range map[string][]struct{ controller, file, want string }{
		"475 operations a second": {
			{"blkio", "blkio.throttle.read_iops_device", " 475"},
			{cgroup.Unified, "io.max", " riops=475"},
		},
		"47 MiB a second": {
			{"blkio", "blkio.throttle.write_bps_device", " 49283072"},
			{cgroup.Unified, "io.max", " rbps=49283072"},
		},
	} {
		if !slices.ContainsFunc(limits, func(l struct{ controller, file, want string }) bool {
			return s.inForce(t, b, l.controller, l.file, l.want)
		}) {
			t.Errorf("no control group of %v is held to %s", s.scope(t, b).Cgroups, what)
		}
	}
}

// inForce reports whether a control file of the instance's group holds the text.
func (s *suite) inForce(t *testing.T, b *box, controller, file, want string) bool {
	dir := s.scope(t, b).Cgroups[controller]
	if dir == "" {
		return false
	}
	text, err := os.ReadFile(filepath.Join(dir, file))
	return err == nil && strings.Contains(string(text), want)
}

// testPidsLimit starts more processes than are allowed, and as many in an instance without a limit.
func testPidsLimit(t *testing.T, s *suite, unlimited *box) {
	shape := s.o.Shape
	shape.Pids = 64
	b := s.startAs(t, s.launch(t, shape, CPUs(t)[:1]))
	b.enforces(t, "pids limit")
	const begin = `i=0; while [ $i -lt 100 ]; do sleep 5 & i=$((i+1)); done; echo all`
	out, err := b.agent.Exec(t.Context(), bench.Command{Argv: []string{"sh", "-c", begin}, Timeout: s.slow(time.Minute)})
	if err != nil {
		// The agent is one of the 64 and may find no room for a thread.
		t.Logf("the instance did not survive: %v", err)
	} else if strings.Contains(string(out.Stdout), "all") || out.Exit == 0 {
		t.Errorf("100 processes began with a limit of 64: exit %d, %s", out.Exit, out.Stderr)
	}
	if got := s.succeed(t, unlimited, "sh", "-c", begin); got != "all\n" {
		t.Errorf("without a limit: %q", got)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}
