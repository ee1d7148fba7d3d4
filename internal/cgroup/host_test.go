package cgroup

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
		CPUSet: []int{0}, Quota: 0.5, Weight: 200,
		Memory: 64 * bench.MiB, MemorySoft: 32 * bench.MiB, Pids: 50,
	})
	if len(unenforced) > 0 {
		t.Logf("unenforced here: %v", unenforced)
	}
	fs := g.fs
	if fs.Mode() == "v2" {
		t.Skip("the files checked below are those of v1")
	}
	for path, want := range map[string]string{
		g.dirs["cpuset"] + "/cpuset.cpus":                 "0",
		g.dirs["cpu"] + "/cpu.cfs_quota_us":               "50000",
		g.dirs["cpu"] + "/cpu.shares":                     "2048",
		g.dirs["memory"] + "/memory.limit_in_bytes":       "67108864",
		g.dirs["memory"] + "/memory.memsw.limit_in_bytes": "67108864",
		g.dirs["memory"] + "/memory.soft_limit_in_bytes":  "33554432",
		g.dirs["pids"] + "/pids.max":                      "50",
	} {
		got, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		}
		if strings.TrimSpace(string(got)) != want {
			t.Errorf("%s = %q, want %q", path, got, want)
		}
	}
}

func TestMembershipOnThisHost(t *testing.T) {
	g, _ := hostGroup(t, Limits{})
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	if err := g.Add(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	in, err := g.fs.Of(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	for c, dir := range g.Dirs() {
		if in[c] != dir {
			t.Errorf("%s: the process is in %q, want %q", c, in[c], dir)
		}
	}
	pids, err := g.Procs()
	if err != nil || len(pids) != 1 || pids[0] != cmd.Process.Pid {
		t.Errorf("Procs() = %v, %v; want [%d]", pids, err, cmd.Process.Pid)
	}
	if err := g.Remove(); err == nil {
		t.Error("a group with a process in it was removed")
	}
}

// A fork bomb, caged by a pids limit so that the host survives it, is ended.
func TestKillForkBomb(t *testing.T) {
	g, unenforced := hostGroup(t, Limits{Pids: 40, CPUSet: []int{0}})
	if len(unenforced) > 0 {
		t.Skipf("no %v here: too dangerous", unenforced)
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
	_, _, err = fs.Create("native-test-refused/one", Limits{CPUSet: []int{4000}})
	if err == nil || bench.HintOf(err) == "" {
		t.Errorf("CPU 4000: %v, hint %q", err, bench.HintOf(err))
	}
	for _, d := range distinct(fs.dirs("native-test-refused")) {
		if _, err := os.Stat(d); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left behind: %v", d, err)
		}
	}
}
