package platformtest

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"tare/internal/bench"
)

// floodDisk is what a program inside that prints on and on may take of the host.
const floodDisk = 4 * bench.MiB

// testFlood: a program that prints on and on where that ends up on the host, on a machine's console or the standard
// error of the platform's program, does not fill the disk, and the instance works on. What it costs to take the words
// is tested where they are taken: here other cases use the same CPUs.
func testFlood(t *testing.T, s *suite, b *box) {
	console := s.o.Console
	if console == "" && !b.agent.Hello().OwnKernel {
		console = fmt.Sprintf("/proc/%d/fd/2", b.agent.Hello().PID)
	}
	if console == "" {
		t.Log("left out: the guest has one line, which is the agent's")
		return
	}
	dirs := []string{filepath.Join(s.env.Dir, b.id), filepath.Join(bench.RuntimeDir, s.env.Run)}
	before := onDisk(t, dirs)
	const lasts = 3 * time.Second
	out := s.exec(t, b, "sh", "-c", fmt.Sprintf("timeout -s KILL %d yes 'what a flood has to say' >%s; echo ended", int(lasts.Seconds()), console))
	grown := onDisk(t, dirs) - before
	t.Logf("the flood took %v of disk", grown)
	if string(out.Stdout) != "ended\n" {
		t.Errorf("after the flood it prints %q, %q", out.Stdout, out.Stderr)
	}
	if grown > floodDisk {
		t.Errorf("a flood of %v takes %v of the host's disk, more than %v", lasts, grown, floodDisk)
	}
}

// onDisk is what the regular files in the directories take, disks of machines excepted.
func onDisk(t *testing.T, dirs []string) (sum bench.Bytes) {
	t.Helper()
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || filepath.Ext(path) == ".raw" || filepath.Ext(path) == ".qcow2" {
				return nil // it ended meanwhile, or is none
			}
			if info, err := d.Info(); err == nil {
				sum += bench.Bytes(info.Sys().(*syscall.Stat_t).Blocks * 512)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return sum
}
