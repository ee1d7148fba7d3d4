package run

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"tare/internal/bench"
)

// TestFollow: what a child executes is listed; this program, which a child executes too, is not.
func TestFollow(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/var/tmp", "tare-follow-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"+own+" -test.list '^$'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := follow("follow-test")
	if errors.Is(err, bench.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(script).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	files, err := f.close()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(files, script) || slices.Contains(files, own) {
		t.Errorf("%s is to be in the list, and %s is not: %q", script, own, files)
	}
}
