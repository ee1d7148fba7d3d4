package ledger

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// A run that died while its swap file was in use leaves it in the ledger, and
// cleaning takes it out of use and deletes it.
func TestCleanTakesSwapAway(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("swap space needs root")
	}
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "runs", "dead", "swap")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	never := filepath.Join(dir, "runs", "dead", "never-made")
	kill := owner(t, dir, bench.KindDir, filepath.Dir(path), bench.KindSwap, path, bench.KindSwap, never)
	if err := os.WriteFile(path, make([]byte, 4<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("/sbin/mkswap", path).CombinedOutput(); err != nil {
		t.Fatalf("mkswap: %v: %s", err, out)
	}
	p, err := unix.BytePtrFromString(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, e := unix.Syscall(unix.SYS_SWAPON, uintptr(unsafe.Pointer(p)), 0, 0); e != 0 {
		t.Skipf("swapon %s: %v", path, e) // a container, or a file system that holds none
	}
	t.Cleanup(func() { unix.Syscall(unix.SYS_SWAPOFF, uintptr(unsafe.Pointer(p)), 0, 0) })
	kill()
	if list, err := clean(t, dir, false); err != nil || len(list) != 3 {
		t.Errorf("%v, %v", list, err)
	}
	if text, err := os.ReadFile("/proc/swaps"); err != nil || strings.Contains(string(text), dir) {
		t.Errorf("still in use: %s, %v", text, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("still there: %v", err)
	}
}

func TestSwapElsewhereIsRefused(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"/swapfile", "/dev/sda2", dir, dir + "/../swap", dir + "x/swap"} {
		if err := checkThing(dir, bench.KindSwap, name); err == nil {
			t.Errorf("%s passes", name)
		}
	}
}
