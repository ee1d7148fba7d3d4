package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// bin is the directory with the programs under test, tare and its agent.
var bin string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	if bin = os.Getenv(insideVar); bin != "" {
		return m.Run() // the programs are built
	}
	var err error
	if bin, err = os.MkdirTemp("", "tare-bin-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(bin)
	// The test of a user who is not root runs the programs, too.
	if err := os.Chmod(bin, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for _, program := range []string{"tare", "tare-agent"} {
		build := exec.Command("go", "build", "-o", filepath.Join(bin, program), "tare/cmd/"+program)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build %s: %v\n%s", program, err, out)
			return 1
		}
	}
	// Whoever else measures on the host is not disturbed, and does not disturb.
	if err := os.Setenv("TARE_LOCK", filepath.Join(bin, "measure.lock")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}
