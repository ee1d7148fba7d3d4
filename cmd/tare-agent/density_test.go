package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/guest/agent"
)

// dense makes a control group in which 64 tasks may live, and returns the
// files that name and admit its processes.
func dense(t *testing.T) (procs string) {
	t.Helper()
	root := "/sys/fs/cgroup/pids"
	if _, err := os.Stat(root); err != nil {
		root = "/sys/fs/cgroup"
	}
	dir := filepath.Join(root, "tare-agent-test-"+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skipf("no control group of one's own: %v", err)
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.WriteFile(filepath.Join(dir, "pids.max"), []byte("64"), 0); err != nil {
		t.Skipf("tasks cannot be limited: %v", err)
	}
	return filepath.Join(dir, "cgroup.procs")
}

// Whoever uses up the tasks that an instance may have must not take the agent
// along, whose runtime ends where it can begin no thread.
func TestSurvivesWithoutRoomForAThread(t *testing.T) {
	program, procs := build(t), dense(t)
	const bomb = "i=0; while [ $i -lt 100 ]; do sleep 300 & i=$((i+1)); done; echo all"
	for range 10 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		cmd := exec.CommandContext(ctx, "sh", "-c", `echo $$ > "$1" && exec "$2" serve`, "sh", procs, program)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		bombed := func() error {
			c, err := agent.Dial(ctx, struct {
				io.Reader
				io.WriteCloser
			}{out, in})
			if err != nil {
				return err
			}
			got, err := c.Exec(ctx, bench.Command{Argv: []string{"sh", "-c", bomb}})
			if err == nil && strings.Contains(string(got.Stdout), "all") {
				t.Error("100 processes began with a limit of 64")
			}
			if err != nil {
				return err
			}
			return c.Close()
		}()
		in.Close()
		ended := cmd.Wait()
		cancel()
		emptied(t, procs)
		if bombed != nil || ended != nil {
			t.Fatalf("%v, ended with %v\n%.1000s", bombed, ended, &stderr)
		}
	}
}

// emptied kills what an agent that died has left.
func emptied(t *testing.T, procs string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		text, err := os.ReadFile(procs)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) == 0 {
			return
		}
		for _, f := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(f); err == nil {
				_ = unix.Kill(pid, unix.SIGKILL) // it may have ended meanwhile
			}
		}
		if time.Now().After(end) {
			t.Fatalf("%s still names %s", procs, text)
		}
	}
}
