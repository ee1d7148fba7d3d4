package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/image"
)

// TestMain lets the test binary be the processes inside; see apart.go.
func TestMain(m *testing.M) {
	if insideVariable() != "" {
		os.Exit(inside())
	}
	os.Exit(m.Run())
}

// seedVar repeats the moments of a test that failed.
const seedVar = "TARE_ENDURE_SEED"

// TestKill kills runs of each platform ten times, cleans and resumes them: nothing is left, no finished trial is lost, and what was killed
// comes to its end. scripts/endure kill does more of it.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("real runs take long")
	}
	if os.Geteuid() != 0 {
		t.Skip("real runs need root")
	}
	img, err := image.New(bench.StateDir).Open(t.Context())
	if err != nil {
		t.Skipf("real runs need the golden image (tare image build): %v", err)
	}
	img.Close()
	seed := uint64(time.Now().UnixNano())
	if given := os.Getenv(seedVar); given != "" {
		if seed, err = strconv.ParseUint(given, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%s=%d repeats it", seedVar, seed)
	tare := programs(t)
	var mu sync.Mutex
	found := map[string]int{} // before cleaning, of each kind, on all platforms: an agent alone may end before anybody looks
	t.Cleanup(func() {
		for _, kind := range []string{"process", "cgroup", "file", "mount"} {
			if found[kind] == 0 {
				t.Errorf("before cleaning no %s was found: the test does not see what a killed run leaves", kind)
			}
		}
	})
	for _, platform := range strings.Split("native,bwrap,nspawn,runc,crun,lxc,incus,containerd,podman,docker,gvisor,uml,qemu-tcg,libvirt-tcg", ",") {
		t.Run(platform, func(t *testing.T) {
			t.Parallel()
			r := task{Tare: tare, Images: filepath.Join(bench.StateDir, "images"), Disk: "/var/tmp", Platform: platform, Moments: 10,
				Seed: seed, Few: true, Soon: true}.apart(t.Context(), t.Output())
			switch {
			case r.Error != "":
				t.Fatal(r.Error)
			case r.Lack != "":
				t.Skip(r.Lack)
			}
			t.Logf("%d kills in %s; %d runs finished; %.0f s", r.Kills, counts(r.During), r.Ends, r.Took)
			for what, list := range map[string][]string{"left behind": r.Left, "lost": r.Lost, "failed": r.Failed} {
				for _, line := range list {
					t.Errorf("%s: %s", what, line)
				}
			}
			mu.Lock()
			for kind, n := range r.Found {
				found[kind] += n
			}
			mu.Unlock()
			if r.Kills != 10 {
				t.Errorf("%d kills, not ten", r.Kills)
			}
		})
	}
}

// programs builds the program and its agent, unless they are given.
func programs(t *testing.T) (tare string) {
	t.Helper()
	if given := os.Getenv("TARE_TEST_TARE"); given != "" {
		return given
	}
	dir := t.TempDir()
	for _, name := range []string{"tare", "tare-agent"} {
		build := exec.Command("go", "build", "-o", filepath.Join(dir, name), "tare/cmd/"+name)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", name, err, out)
		}
	}
	return filepath.Join(dir, "tare")
}
