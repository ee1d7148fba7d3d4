package uml

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/platform/launch/launchtest"
	"tare/internal/platform/platformtest"
	"tare/internal/platform/trial"
)

func TestCrash(t *testing.T) {
	if _, err := New().Check(t.Context()); err != nil {
		t.Skip(err)
	}
	launchtest.Crash(t, "umlcrash", func(string) bench.Platform { return New() }, []launchtest.Moment{
		{Step: "start"}, {Step: "start", After: 30 * time.Millisecond}, {Step: "start", After: 150 * time.Millisecond},
		{Step: "start", After: 500 * time.Millisecond},
	})
}

// Whether it starts here a trial tells, kept with the host's own verdicts: the suite
// starts this program again.
func TestConformance(t *testing.T) {
	platformtest.Run(t, trial.Of(New(), bench.StateDir, ""), platformtest.Options{Slow: 3, MostCPUs: 1, Console: "/dev/console"})
}

func aLaunch() bench.Launch {
	return bench.Launch{
		ID: "r-a", Shape: bench.Shape{CPUs: 1, Memory: 256 * bench.MiB, Disk: bench.GiB}, CPUSet: []int{1},
		Options: map[string]string{optCache: "writeback"}, Dir: "/d/r-a",
	}
}

func TestArgs(t *testing.T) {
	m := machine{launch: aLaunch(), initrd: "/d/i.cpio", root: "/img/root.ext4", tap: "um1",
		lease: bench.Lease{Addr: netip.MustParsePrefix("10.231.0.2/16"), Gateway: netip.MustParseAddr("10.231.0.1"), MAC: "02:74:0a:e7:00:02"}}
	for _, want := range []string{
		"mem=262144K", "ubd0c=/d/r-a/root.cow,/img/root.ext4", "ubd1=/d/r-a/scratch.raw", "ssl0=fd:0,fd:1", "tare.port=/dev/ttyS0",
		"vec0:transport=tap,ifname=um1,mac=02:74:0a:e7:00:02,gro=1", "tare.root=/dev/ubda", "tare.scratch=/dev/ubdb", "tare.ip=10.231.0.2/16",
	} {
		if !slices.Contains(m.args(), want) {
			t.Errorf("%q is not in %q", want, m.args())
		}
	}
	m.launch.Options[optCache] = "sync"
	if !slices.Contains(m.args(), "ubd1s=/d/r-a/scratch.raw") {
		t.Errorf("not synchronous: %q", m.args())
	}
}

func TestCheckLaunch(t *testing.T) {
	if err := checkLaunch(aLaunch()); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*bench.Launch){
		"2 CPUs":        func(l *bench.Launch) { l.Shape.CPUs = 2 },
		"memory 16":     func(l *bench.Launch) { l.Shape.Memory = 16 * bench.MiB },
		"disk 1":        func(l *bench.Launch) { l.Shape.Disk = bench.MiB },
		"no host CPU":   func(l *bench.Launch) { l.CPUSet = nil },
		`directory "/a`: func(l *bench.Launch) { l.Dir = "/a b" },
		"/run/x":        func(l *bench.Launch) { l.NetNS = "/run/x" },
	} {
		l := aLaunch()
		change(&l)
		if err := checkLaunch(l); !errors.Is(err, bench.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestCaveats(t *testing.T) {
	for text, want := range map[string]int{"65530\n": 4, "1048576\n": 3, "x": 3, "": 3} {
		file := filepath.Join(t.TempDir(), "max_map_count")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := caveats(file); len(got) != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	if got := caveats("/no/such/file"); len(got) != 3 {
		t.Errorf("%v", got)
	}
}
