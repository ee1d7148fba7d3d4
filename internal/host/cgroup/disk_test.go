package cgroup

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/bench"
)

// sysfs lays out /sys/dev/block as the kernel does: links to devices, a
// partition below its disk.
func sysfs(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for path, text := range map[string]string{
		"sys/devices/pci0/block/vda/dev":             "254:0\n",
		"sys/devices/pci0/block/vda/queue/scheduler": "none mq-deadline kyber [bfq]\n",
		"sys/devices/pci0/block/vda/vda1/dev":        "254:1\n",
		"sys/devices/pci0/block/vda/vda1/partition":  "1\n",
	} {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	links := filepath.Join(root, "sys/dev/block")
	if err := os.MkdirAll(links, 0o755); err != nil {
		t.Fatal(err)
	}
	for number, to := range map[string]string{"254:0": "vda", "254:1": "vda/vda1"} {
		if err := os.Symlink("../../devices/pci0/block/"+to, filepath.Join(links, number)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestDiskOfAPartitionIsTheWhole(t *testing.T) {
	root := sysfs(t)
	vda := Disk{Number: "254:0", Path: "/dev/vda", Weighs: true}
	for number, want := range map[string]Disk{"254:0": vda, "254:1": vda, "0:45": {}} {
		got, err := diskOf(root, number)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", number, got, err, want)
		}
	}
}

func TestWeightNeedsAScheduler(t *testing.T) {
	bfq := Disk{Number: "254:0", Path: "/dev/vda", Weighs: true}
	for _, c := range []struct {
		disk Disk
		want knob
	}{
		{bfq, knob{diskWeight, "blkio", []setting{{"blkio.bfq.weight", "300"}}, []setting{{"io.bfq.weight", "300"}}}},
		{Disk{Number: "254:0", Path: "/dev/vda"}, knob{what: diskWeight}},
		{Disk{}, knob{what: diskWeight}},
	} {
		got := Limits{DiskWeight: 300, Disk: c.disk}.knobs()
		if diff := cmp.Diff([]knob{c.want}, got, cmp.AllowUnexported(knob{}, setting{})); diff != "" {
			t.Errorf("%+v: %s", c.disk, diff)
		}
	}
}

func TestBandwidthOfADisk(t *testing.T) {
	got := Limits{DiskBandwidth: 5 * bench.MiB, Disk: Disk{Number: "254:0"}}.knobs()
	want := []knob{{DiskBandwidth, "blkio",
		[]setting{{"blkio.throttle.read_bps_device", "254:0 5242880"}, {"blkio.throttle.write_bps_device", "254:0 5242880"}},
		[]setting{{"io.max", "254:0 rbps=5242880 wbps=5242880"}}}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(knob{}, setting{})); diff != "" {
		t.Error(diff)
	}
}

func TestSwapIsWhatMemoryLeaves(t *testing.T) {
	for _, k := range (Limits{Memory: bench.GiB, Swap: bench.MiB}).knobs() {
		if k.what == swap && (k.v1[0].value != "1074790400" || k.v2[0].value != "1048576") {
			t.Errorf("%+v", k)
		}
	}
}

func TestDiskIsLookedForOnlyIfLimited(t *testing.T) {
	if d, err := DiskOf(bench.Shape{}, "/not/there"); d != (Disk{}) || err != nil {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := DiskOf(bench.Shape{DiskIOPS: 1}, "/not/there"); err == nil {
		t.Error("a limit on no directory")
	}
}

func TestDiskRates(t *testing.T) {
	d := Disk{Number: "254:0", Path: "/dev/vda"}
	want := []Control{{"blkio.throttle.read_iops_device", "254:0 475"}, {"blkio.throttle.write_iops_device", "254:0 475"}}
	if diff := cmp.Diff(want, d.Rates(475, false)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Control{{"io.max", "254:0 riops=475 wiops=475"}}, d.Rates(475, true)); diff != "" {
		t.Error(diff)
	}
	if k := (Limits{DiskIOPS: 475}).knobs()[0]; k.what != DiskRate || k.v1 != nil || k.v2 != nil {
		t.Errorf("%+v", k)
	}
}
