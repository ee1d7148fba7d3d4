package cgroup

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A process is in the group from its first instruction on. The thread that started it is back in
// its old group.
func TestBornInGroup(t *testing.T) {
	g, _ := hostGroup(t, Limits{CPUSet: []int{0}, Memory: 64 << 20, Pids: 20})
	before, err := g.fs.Of(unix.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	var inside []byte
	offThread(func() {
		err = g.Around(func(born syscall.SysProcAttr) error {
			cmd := exec.Command(os.Args[0])
			cmd.Env = []string{partVar + "=where"}
			cmd.SysProcAttr = &born
			var err error
			inside, err = cmd.Output()
			return err
		})
		if after, ofErr := g.fs.Of(unix.Gettid()); ofErr != nil || len(after) != len(before) {
			t.Errorf("the thread is in %v, %v", after, ofErr)
		} else {
			for c, dir := range before {
				if after[c] != dir {
					t.Errorf("the thread is left in %s", after[c])
				}
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	in, err := g.fs.membership(string(inside))
	if err != nil {
		t.Fatal(err)
	}
	for c, dir := range g.dirs {
		if !strings.HasSuffix(in[c], dir) {
			t.Errorf("%s: born in %s, want %s", c, in[c], dir)
		}
	}
}

// offThread runs f on a thread other than the process's first.
func offThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if unix.Gettid() == unix.Getpid() {
			offThread(f)
			return
		}
		f()
	}()
	<-done
}
