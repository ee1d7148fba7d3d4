package main

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/verify/survey"
)

// TestLookingLeavesNothing asks for what the host can do and for what would be
// done: not a file or directory is new after, nor is the state directory. The
// host's /run, /tmp and /dev/shm are the test's own.
func TestLookingLeavesNothing(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("a mount namespace needs root")
	}
	if os.Getenv(insideVar) != "" {
		looking(t)
		return
	}
	cmd := exec.CommandContext(t.Context(), "unshare", "--mount", "--propagation", "private",
		os.Args[0], "-test.run=^TestLookingLeavesNothing$", "-test.v")
	cmd.Env = append(os.Environ(), insideVar+"="+bin)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func looking(t *testing.T) {
	dir, err := os.MkdirTemp("/var/tmp", "tare-looking-")
	if err != nil {
		t.Fatal(err)
	}
	programs := filepath.Join(dir, "bin") // they lie in /tmp, which is to be covered
	t.Cleanup(func() {
		if err := errors.Join(unix.Unmount(programs, unix.MNT_DETACH), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
	if err := errors.Join(os.Mkdir(programs, 0o755), unix.Mount(bin, programs, "", unix.MS_BIND, "")); err != nil {
		t.Fatal(err)
	}
	trees := maps.Clone(survey.Usual)
	for top, mode := range map[string]string{"/run": "755", "/tmp": "1777", "/dev/shm": "1777"} {
		trees[top] = 9
		if err := unix.Mount("tare-test", top, "tmpfs", 0, "mode="+mode); err != nil {
			t.Fatal(err)
		}
	}
	var host survey.Host
	before := host.Files(trees)
	sees(t, before, "file /run drwxr-xr-x")
	state := filepath.Join(dir, "state")
	for _, words := range []string{"doctor", "doctor --packages overhead", "list platforms", "list meters", "list workloads", "plan quick", "image list"} {
		cmd := exec.CommandContext(t.Context(), filepath.Join(programs, "tare"), slices.Concat([]string{"--state", state}, strings.Fields(words))...)
		if out, err := cmd.CombinedOutput(); err != nil && (cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != exitHost) {
			t.Errorf("tare %s: %v\n%s", words, err, out)
		}
		after := host.Files(trees)
		if left, gone := survey.Changes(before, after); len(left)+len(gone) > 0 {
			t.Errorf("tare %s: new %q, gone %q", words, left, gone)
		}
		if _, err := os.Lstat(state); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("tare %s: the state directory is there: %v", words, err)
		}
		before = after
	}
}
