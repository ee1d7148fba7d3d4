package libvirt

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/bench"
	"tare/internal/platform/platformtest"
	"tare/internal/state/cache"
)

// slow is how much longer than a container's an emulated machine's boot may take.
const slow = 4

// state is kept between the suite's runs of this program: what libvirtd finds
// out about QEMU takes it eight seconds.
func state(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(os.TempDir(), "tare-libvirt-test")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The set is reduced to what libvirt has a part in: the guest is that of
// qemu-tcg, which passes the whole suite.
func TestConformanceEmulated(t *testing.T) {
	platformtest.Run(t, TCG(state(t)), platformtest.Options{Slow: slow, Console: "/dev/ttyS0", Only: []string{"killed run", "greeting", "memory limit",
		"disk rate", "scope", "closed to others", "flood of words", "network", "two at once", "refused cpu set", "missing image", "crash"}})
}

func TestConformanceKVM(t *testing.T) {
	p := KVM(bench.StateDir)
	if _, err := p.Check(t.Context()); errors.Is(err, bench.ErrUnavailable) {
		t.Skipf("no virtualization here: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	platformtest.Run(t, p, platformtest.Options{})
}

// What a run has noted of QEMU is removed by the lock that a run takes, and not
// while one has it.
func TestNotesAreRemoved(t *testing.T) {
	p := TCG(t.TempDir())
	held, err := hold(p.keep())
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	notes := (&daemon{keep: p.keep()}).dir("cache")
	if err := os.MkdirAll(filepath.Join(notes, "qemu"), 0o700); err != nil {
		t.Fatal(err)
	}
	things, err := cache.List(p.state, []bench.Platform{p})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(things, func(k cache.Thing) bool { return filepath.Join(p.state, k.Name) == notes })
	if i < 0 {
		t.Fatalf("%s is not among what is kept: %+v", notes, things)
	}
	if err := cache.Remove(p.state, things[i]); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("removed while a run holds it: %v", err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cache.Remove(p.state, things[i]); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(notes); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", notes, err)
	}
}
