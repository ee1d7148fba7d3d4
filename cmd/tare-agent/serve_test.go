package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
	"tare/internal/guest/agent"
)

func TestUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"dance"}, {"serve", "--loud"}, {"serve", "now"}, {"spawn"}} {
		if err := run(context.Background(), 0, args); !errors.Is(err, errUsage) {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// build builds the agent as it is shipped.
func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tare-agent")
	cmd := exec.Command("go", "build", "-o", path, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return path
}

// terminal returns the two ends of a pseudoterminal, the second by name.
func terminal(t *testing.T) (*os.File, string) {
	t.Helper()
	ptmx, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no pseudoterminals: %v", err)
	}
	fd := int(ptmx.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	return ptmx, fmt.Sprintf("/dev/pts/%d", n)
}

// A character device, waited for, whose line discipline would spoil the stream:
// 200 kB of every byte there is must pass.
func TestServeOnAPortThatAppearsLater(t *testing.T) {
	program := build(t)
	ptmx, pts := terminal(t)
	port := filepath.Join(t.TempDir(), "port")
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "serve", "--port", port)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(pts, port); err != nil {
		t.Fatal(err)
	}
	c, err := agent.Dial(ctx, ptmx)
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	all := make([]byte, 200_000)
	for i := range all {
		all[i] = byte(i * 7)
	}
	out, err := c.Exec(ctx, bench.Command{Argv: []string{"cat"}, Stdin: all})
	if err != nil || !bytes.Equal(out.Stdout, all) {
		t.Errorf("%d bytes returned, %v", len(out.Stdout), err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the agent ended with %v\n%s", err, &stderr)
	}
}

func TestPortThatNeverAppears(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err := openPort(ctx, "/dev/no-such-port")
	if err == nil || !strings.Contains(err.Error(), "/dev/no-such-port") || bench.HintOf(err) == "" {
		t.Errorf("error %v", err)
	}
	if _, err := openPort(context.Background(), "/dev"); err == nil || !strings.Contains(err.Error(), "/dev") {
		t.Errorf("a directory: %v", err)
	}
}
