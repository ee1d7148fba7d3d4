package qemu

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/platform/launch"
)

func TestVhostThreads(t *testing.T) {
	proc := t.TempDir()
	for pid, comm := range map[int]string{4711: "qemu-system-x86", 4712: "vhost-4711", 4713: "vhost-4711", 5000: "vhost-47"} {
		write(t, filepath.Join(proc, fmt.Sprint(pid), "comm"), comm+"\n")
	}
	write(t, filepath.Join(proc, "uptime"), "1")
	got, err := vhostThreads(proc, 4711)
	if d := cmp.Diff([]int{4712, 4713}, got); d != "" || err != nil {
		t.Error(d, err)
	}
}

// A socket's path may have 107 bytes; a directory's may have many more.
func TestListenInADeepDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("d", 200))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	ln, err := launch.Listen(dir, "s")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if info, err := os.Stat(filepath.Join(dir, "s")); err != nil || info.Mode().Type() != os.ModeSocket {
		t.Errorf("%v, %v", info, err)
	}
}
