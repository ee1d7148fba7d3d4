package trace

import (
	"os"
	"os/exec"
	"strconv"
	"testing"

	"tare/internal/bench"
)

// TestKin: a child, one that only its mark makes a member, and children of members that have ended
// before anybody looked.
func TestKin(t *testing.T) {
	id := "kin" + strconv.Itoa(os.Getpid())
	start := func(mark string) int {
		// The shell makes a process whose parent is gone at once.
		out, err := func() ([]byte, error) {
			cmd := exec.Command("sh", "-c", "sleep 600 >/dev/null 2>&1 & echo $!")
			cmd.Env = append(os.Environ(), bench.ProcessMark+"="+mark)
			return cmd.Output()
		}()
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(string(out[:len(out)-1]))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if p, err := os.FindProcess(pid); err == nil {
				p.Kill()
			}
		})
		return pid
	}
	child := exec.Command("sleep", "600")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		child.Process.Kill()
		child.Wait()
	}()
	own, other := start(id+"-b01"), start(id+"x")
	k := KinOf(id)
	for pid, want := range map[int]bool{os.Getpid(): true, child.Process.Pid: true, own: true, other: false, 1: false} {
		if got := k.Has(pid); got != want {
			t.Errorf("process %d: %t, want %t", pid, got, want)
		}
	}
	const first, second, third = 1 << 28, 1<<28 + 1, 1<<28 + 2 // above the largest there is
	k.Add([]Fork{{own, first}, {first, second}, {1, third}})
	if !k.Has(first) || !k.Has(second) || k.Has(third) {
		t.Errorf("of the children of members: %t, %t; of another: %t", k.Has(first), k.Has(second), k.Has(third))
	}
}
