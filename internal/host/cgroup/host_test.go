package cgroup

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/bench"
)

// hostGroup makes a group on this host, removed with everything in it when the test ends.
func hostGroup(t *testing.T, l Limits) (*Group, []string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("making cgroups needs root")
	}
	fs, err := Detect()
	if errors.Is(err, bench.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	g, unenforced, err := fs.Create("native-test-"+strings.ToLower(t.Name())+"/one", l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := g.Kill(ctx); err != nil {
			t.Error(err)
		}
		if err := g.Remove(); err != nil {
			t.Error(err)
		}
		for _, d := range distinct(g.Dirs()) {
			if _, err := os.Stat(filepath.Dir(d)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s is left behind: %v", filepath.Dir(d), err)
			}
		}
	})
	return g, unenforced
}

func TestCreateOnThisHost(t *testing.T) {
	g, unenforced := hostGroup(t, Limits{
		CPUSet: []int{0}, Nodes: "0", Quota: 0.5, Weight: 200,
		Memory: 64 * bench.MiB, MemorySoft: 32 * bench.MiB, Pids: 50,
	})
	if len(unenforced) > 0 {
		t.Errorf("unenforced on a host with every controller: %v", unenforced)
	}
	for path, want := range map[string]string{
		g.dirs["cpuset"] + "/cpuset.cpus":                 "0",
		g.dirs["cpuset"] + "/cpuset.mems":                 "0",
		g.dirs["cpu"] + "/cpu.cfs_quota_us":               "50000",
		g.dirs["cpu"] + "/cpu.shares":                     "2048",
		g.dirs["memory"] + "/memory.limit_in_bytes":       "67108864",
		g.dirs["memory"] + "/memory.memsw.limit_in_bytes": "67108864",
		g.dirs["memory"] + "/memory.soft_limit_in_bytes":  "33554432",
		g.dirs["pids"] + "/pids.max":                      "50",

		g.dirs[Unified] + "/cpuset.cpus.effective": "0",
		g.dirs[Unified] + "/cpuset.mems.effective": "0",
		g.dirs[Unified] + "/cpu.max":               "50000 100000",
		g.dirs[Unified] + "/cpu.weight":            "200",
		g.dirs[Unified] + "/memory.max":            "67108864",
		g.dirs[Unified] + "/memory.swap.max":       "0",
		g.dirs[Unified] + "/memory.low":            "33554432",
		g.dirs[Unified] + "/../memory.low":         "33554432",
		g.dirs[Unified] + "/../../memory.low":      "33554432",
		g.dirs[Unified] + "/pids.max":              "50",
	} {
		file := filepath.Base(path)
		controller, _, _ := strings.Cut(file, ".")
		if v2 := strings.HasPrefix(path, g.dirs[Unified]+"/"); v2 != g.fs.v2[controller] {
			continue // of the other version
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		}
		if strings.TrimSpace(string(got)) != want {
			t.Errorf("%s = %q, want %q", path, got, want)
		}
	}
}

// Others remove ancestors that are empty just now, as a run does that ends.
func TestCreateWhileOthersRemove(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("making cgroups needs root")
	}
	fs, err := Detect()
	if errors.Is(err, bench.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	const top = "native-test-raced"
	done := make(chan struct{})
	removed := make(chan int)
	go func() {
		n := 0
		for {
			select {
			case <-done:
				removed <- n
				return
			default:
			}
			for _, dir := range distinct(fs.dirs(top)) {
				if os.Remove(dir) == nil {
					n++
				}
			}
			time.Sleep(100 * time.Microsecond)
		}
	}()
	for range 300 {
		g, _, err := fs.Create(top+"/one", Limits{CPUSet: []int{0}})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Remove(); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	if <-removed == 0 {
		t.Error("the other removed nothing: no race was tried")
	}
}

// child starts this test binary in the given part once it is in the group.
func child(t *testing.T, g *Group, part string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), partVar+"="+part)
	begin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	if err := g.Add(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if _, err := begin.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func TestMembershipOnThisHost(t *testing.T) {
	g, _ := hostGroup(t, Limits{})
	pid := child(t, g, "sleep").Process.Pid
	in, err := g.fs.Of(pid)
	if err != nil {
		t.Fatal(err)
	}
	for c, dir := range g.Dirs() {
		if in[c] != dir {
			t.Errorf("%s: the process is in %q, want %q", c, in[c], dir)
		}
	}
	pids, err := g.Procs()
	if err != nil || len(pids) != 1 || pids[0] != pid {
		t.Errorf("Procs() = %v, %v; want [%d]", pids, err, pid)
	}
	beside := g.fs.Group(g.Name()[:len(g.Name())-1]) // its name is a prefix of the other's
	for _, c := range []struct {
		of   *Group
		pid  int
		want bool
	}{{g, pid, true}, {g.fs.Group(filepath.Dir(g.Name())), pid, true}, {g, os.Getpid(), false}, {beside, pid, false}} {
		if got, err := c.of.Holds(c.pid); err != nil || got != c.want {
			t.Errorf("%s holds process %d: %v, %v", c.of.Name(), c.pid, got, err)
		}
	}
	if _, err := g.Holds(1 << 30); err == nil {
		t.Error("it was found out where a process is that does not exist")
	}
	if err := g.Remove(); err == nil {
		t.Error("a group with a process in it was removed")
	}
}

func TestMemoryLimitKills(t *testing.T) {
	g, unenforced := hostGroup(t, Limits{Memory: 48 * bench.MiB})
	if slices.Contains(unenforced, memory) {
		t.Skip("no memory controller here")
	}
	cmd := child(t, g, "hog")
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("256 MiB within a limit of 48 MiB: %v", err)
	}
}

// The bounds are wide: neighbours take CPU time too, and periods are overrun.
func TestQuotaHolds(t *testing.T) {
	g, unenforced := hostGroup(t, Limits{Quota: 0.25})
	if slices.Contains(unenforced, cpuQuota) {
		t.Skip("no cpu controller here")
	}
	cmd := child(t, g, "spin")
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	used := (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	t.Logf("used %.2f s of CPU in %.1f s", used, spin.Seconds())
	if share := used / spin.Seconds(); share > 0.6 {
		t.Errorf("used %.2f CPUs with a quota of 0.25", share)
	}
}

// A fork bomb, contained by a pids limit so that the host survives it, is ended.
func TestKillForkBomb(t *testing.T) {
	g, unenforced := hostGroup(t, Limits{Pids: 40, CPUSet: []int{0}})
	if len(unenforced) > 0 {
		t.Skipf("no %v here: too dangerous", unenforced)
	}
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	cmd := exec.Command("sh", "-c", `read go; bomb() { bomb & bomb & wait; sleep 1; bomb; }; bomb`)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	if err := g.Add(cmd.Process.Pid); err != nil {
		cmd.Process.Kill()
		t.Fatal(err)
	}
	in.Write([]byte("go\n"))
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if pids, _ := g.Procs(); len(pids) > 20 {
			break
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := g.Kill(ctx); err != nil {
		t.Fatal(err)
	}
	if pids, err := g.Procs(); err != nil || len(pids) > 0 {
		t.Errorf("left: %v, %v", pids, err)
	}
}

func TestRefusedCPUSetLeavesNothing(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("making cgroups needs root")
	}
	fs, err := Detect()
	if err != nil {
		t.Skip(err)
	}
	for _, l := range []Limits{{CPUSet: []int{4000}}, {CPUSet: []int{0}, Nodes: "900"}} {
		_, _, err = fs.Create("native-test-refused/one", l)
		if err == nil || bench.HintOf(err) == "" {
			t.Errorf("%+v: %v, hint %q", l, err, bench.HintOf(err))
		}
	}
	for _, d := range distinct(fs.dirs("native-test-refused")) {
		if _, err := os.Stat(d); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left behind: %v", d, err)
		}
	}
}

// Processes that an interrupted checkpoint left frozen die too.
func TestKillFrozen(t *testing.T) {
	g, _ := hostGroup(t, Limits{CPUSet: []int{0}})
	child(t, g, "sleep")
	file, word := "cgroup.freeze", "1"
	dir := g.Dirs()[Unified]
	if v1 := g.Dirs()["freezer"]; v1 != "" {
		dir, file, word = v1, "freezer.state", "FROZEN"
	}
	if err := write(filepath.Join(dir, file), word); err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := g.Kill(ctx); err != nil {
		t.Error(err)
		_ = write(filepath.Join(dir, file), "THAWED")
	}
}
