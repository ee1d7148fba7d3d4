package docker

import (
	"encoding/csv"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/moby/api/types/system"
	"pgregory.net/rapid"

	"tare/internal/bench"
)

func TestRunArgs(t *testing.T) {
	base := bench.Launch{
		ID: "r1-a", CPUSet: []int{0, 3}, Options: map[string]string{"net": "bridge", "storage": "rootfs", "runtime": "runc"},
		Shape: bench.Shape{CPUs: 2, Memory: 512 * bench.MiB, Disk: bench.GiB},
	}
	head := "--host unix:///s run --interactive --rm=false --name r1-a --log-driver none --cgroup-parent /tare/r1/r1-a --cpuset-cpus 0,3 --memory 536870912b --memory-swap 536870912b"
	agent := " --mount type=bind,source=/opt/tare-agent,target=/.tare-agent,readonly"
	tail := " tare:0123 /.tare-agent serve"
	for name, c := range map[string]struct {
		change func(*bench.Launch)
		want   string
	}{
		"defaults": {func(*bench.Launch) {}, head + " --runtime runc --network bridge" + agent + tail},
		"every limit": {func(l *bench.Launch) {
			l.Shape.MemorySoft, l.Shape.CPUQuota, l.Shape.CPUWeight, l.Shape.Pids = 256*bench.MiB, 1.5, 200, 64
		}, head + " --memory-reservation 268435456b --cpus 1.5 --cpu-shares 2048 --pids-limit 64 --runtime runc --network bridge" + agent + tail},
		"a quota given out often": {func(l *bench.Launch) {
			l.Shape.CPUQuota, l.Shape.CPUPeriod = 0.475, 10*time.Millisecond
		}, head + " --cpu-period 10000 --cpu-quota 4750 --runtime runc --network bridge" + agent + tail},
		"a disk rate": {func(l *bench.Launch) {
			l.Shape.DiskIOPS = 475
		}, head + " --device-read-iops /dev/vda:475 --device-write-iops /dev/vda:475 --runtime runc --network bridge" + agent + tail},
		"a disk's bandwidth": {func(l *bench.Launch) {
			l.Shape.DiskBandwidth = bench.MiB
		}, head + " --device-read-bps /dev/vda:1048576 --device-write-bps /dev/vda:1048576 --runtime runc --network bridge" + agent + tail},
		"host network, volume": {func(l *bench.Launch) {
			l.Options = map[string]string{"net": "host", "storage": "volume", "runtime": "runsc"}
		}, head + " --runtime runsc --network host" + agent + " --mount type=volume,target=/scratch" + tail},
		"kata": {func(l *bench.Launch) {
			l.Options = map[string]string{"net": "bridge", "storage": "rootfs", "runtime": "kata"}
		}, head + " --runtime kata --network bridge" + agent + tail + " --own-kernel"},
		"a port that is not to be published": {func(l *bench.Launch) {
			l.Publish = 6379
		}, head + " --runtime runc --network bridge" + agent + tail},
		"a published port": {func(l *bench.Launch) {
			l.Publish, l.Options = 6379, map[string]string{"net": "bridge", "storage": "rootfs", "runtime": "runc", "publish": "yes"}
		}, head + " --runtime runc --network bridge" + agent + " --publish 10.231.0.1:6379:6379/tcp" + tail},
		"bind": {func(l *bench.Launch) {
			l.Options = map[string]string{"net": "none", "storage": "bind", "runtime": "crun"}
		}, head + " --runtime crun --network none" + agent + " --mount type=bind,source=/d/scratch,target=/scratch" + tail},
	} {
		t.Run(name, func(t *testing.T) {
			l := base
			c.change(&l)
			got := strings.Join(runArgs("unix:///s", "tare:0123", "/opt/tare-agent", "/tare/r1/r1-a", "/d/scratch", "/dev/vda", netip.MustParseAddr("10.231.0.1"), l), " ")
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDaemonArgs(t *testing.T) {
	got := strings.Join(daemonArgs(paths{driver: "overlay2", data: "/state/docker", run: "/run/tare/r1/docker"}), " ")
	want := "--config-file /run/tare/r1/docker/daemon.json --data-root /state/docker --storage-driver overlay2 --exec-root /run/tare/r1/docker/exec" +
		" --host unix:///run/tare/r1/docker/docker.sock --pidfile /run/tare/r1/docker/docker.pid" +
		" --exec-opt native.cgroupdriver=cgroupfs --log-level warn"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestBind reads mounts as docker does: as one record of CSV.
func TestBind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := "/" + rapid.StringMatching(`[a-z", =]*`).Draw(t, "path")
		fields, err := csv.NewReader(strings.NewReader(bind(from, "/scratch"))).Read()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"type=bind", "source=" + from, "target=/scratch"}, fields); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestTag(t *testing.T) {
	if got, err := tag("sha256:0123456789abcdef"); got != "tare:0123456789ab" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	for _, bad := range []string{"", "0123456789abcdef", "md5:0123456789abcdef", "sha256:", "sha256:../../etc/passwd"} {
		if got, err := tag(bad); err == nil {
			t.Errorf("%q was accepted as %q", bad, got)
		}
	}
}

func TestImportError(t *testing.T) {
	good := `{"status":"sha256:db55553283f0b425a676bcb5eaf8b043f024c7fa36aefa525a4fc8b91b21f2bf"}` + "\r\n"
	if err := importError(strings.NewReader(good)); err != nil {
		t.Error(err)
	}
	bad := `{"errorDetail":{"message":"write /x: no space left on device"},"error":"write /x: no space left on device"}`
	if err := importError(strings.NewReader(good + bad)); err == nil || err.Error() != "write /x: no space left on device" {
		t.Errorf("got %v", err)
	}
	if err := importError(strings.NewReader("<html>")); err == nil {
		t.Error("what is no progress was accepted")
	}
}

func FuzzImportError(f *testing.F) {
	f.Add(`{"status":"x"}`)
	f.Add(`{"error":"x"}{`)
	f.Fuzz(func(t *testing.T, text string) { _ = importError(strings.NewReader(text)) })
}

func TestUnenforced(t *testing.T) {
	all := system.Info{CPUSet: true, CPUCfsQuota: true, MemoryLimit: true, PidsLimit: true}
	if got := unenforced(all); len(got) != 0 {
		t.Errorf("got %q", got)
	}
	all.MemoryLimit = false
	if diff := cmp.Diff([]string{"memory limit"}, unenforced(all)); diff != "" {
		t.Error(diff)
	}
}

func TestComplaints(t *testing.T) {
	log := `time="t" level=info msg="starting signal loop" pid=1` + "\n" +
		`time="t" level=warning msg="devmapper not configured"` + "\n\n" +
		`failed to start daemon: no space left on device`
	want := `time="t" level=warning msg="devmapper not configured" | failed to start daemon: no space left on device`
	if got := complaints(log); got != want {
		t.Errorf("got %q", got)
	}
}
