package host

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
)

// Two groups that read one disk at full speed get shares by their weights.
func TestDiskWeightInForce(t *testing.T) {
	if os.Getenv("TARE_LONG") == "" {
		t.Skip("reads a disk for half a minute: TARE_LONG=1 runs it")
	}
	dir := diskOfItsOwn(t)
	if why := Controls("/", dir)[bench.CondIOScheduler].Refuses(bench.CondIOScheduler, "bfq"); why != "" {
		t.Skip(why)
	}
	restore, err := Set("/", dir, &forgetful{}, map[string]string{"io_scheduler": "bfq"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := restore(); err != nil {
			t.Error(err)
		}
	})
	for _, c := range []struct {
		first, second int
		low, high     float64
	}{{100, 100, 0.8, 1.25}, {100, 300, 2.2, 4}} {
		got := compete(t, dir, c.first, c.second)
		t.Logf("weights %d and %d: %.0f and %.0f reads per second, 1:%.2f", c.first, c.second, got[0], got[1], got[1]/got[0])
		if ratio := got[1] / got[0]; ratio < c.low || ratio > c.high {
			t.Errorf("weights %d and %d: shares are 1:%.2f", c.first, c.second, ratio)
		}
	}
}

// diskOfItsOwn mounts a loop device, so that changing its scheduler affects nobody else.
func diskOfItsOwn(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("loop devices need root")
	}
	base := t.TempDir()
	file, dir := filepath.Join(base, "disk"), filepath.Join(base, "mnt")
	run := func(argv ...string) string {
		out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
		if err != nil {
			t.Skipf("%v: %v: %s", argv, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	run("fallocate", "-l", "600M", file)
	run("mkfs.ext4", "-q", "-F", file)
	loop := run("losetup", "--find", "--show", "--direct-io=on", file)
	t.Cleanup(func() { exec.Command("losetup", "--detach", loop).Run() })
	run("mount", loop, dir)
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	return dir
}

// compete reads files in two groups of the weights at once, and returns the reads per second.
func compete(t *testing.T, dir string, weights ...int) []float64 {
	t.Helper()
	fs, err := cgroup.Detect()
	if err != nil {
		t.Skip(err)
	}
	rates := make([]float64, len(weights))
	var all sync.WaitGroup
	for i, weight := range weights {
		disk, err := cgroup.DiskOf(bench.Shape{DiskWeight: weight}, dir)
		if err != nil || !disk.Weighs {
			t.Fatalf("%+v, %v", disk, err)
		}
		name := "host-test-weight/" + string(rune('a'+i))
		g, missing, err := fs.Create(name, cgroup.Limits{DiskWeight: weight, Disk: disk})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			if err := g.End(ctx); err != nil {
				t.Error(err)
			}
		})
		if len(missing) > 0 {
			t.Skipf("this host has no control group for: %v", missing)
		}
		file := filepath.Join(dir, string(rune('a'+i)))
		if out, err := exec.Command("dd", "if=/dev/zero", "of="+file, "bs=1M", "count=200", "oflag=direct").CombinedOutput(); err != nil {
			t.Fatalf("dd: %v: %s", err, out)
		}
		all.Go(func() {
			const fio = `read go; exec fio --name=a --filename="$1" --size=200M --rw=randread --bs=64k --direct=1 --ioengine=libaio --iodepth=16 --time_based --ramp_time=2 --runtime=8 --output-format=json`
			cmd := exec.Command("sh", "-c", fio, "sh", file)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Error(err)
				return
			}
			var out strings.Builder
			cmd.Stdout = &out
			if err := cmd.Start(); err != nil {
				t.Error(err)
				return
			}
			if err := g.Add(cmd.Process.Pid); err != nil {
				t.Error(err)
			}
			in.Write([]byte("go\n"))
			if err := cmd.Wait(); err != nil {
				t.Errorf("fio: %v", err)
				return
			}
			var result struct {
				Jobs []struct{ Read struct{ IOPS float64 } }
			}
			if err := json.Unmarshal([]byte(out.String()), &result); err != nil || len(result.Jobs) != 1 {
				t.Errorf("fio printed %.200q: %v", out.String(), err)
				return
			}
			rates[i] = result.Jobs[0].Read.IOPS
		})
	}
	all.Wait()
	return rates
}
