package qemu

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// groupLine begins what dumpe2fs says of a block group.
var groupLine = regexp.MustCompile(`^Group \d+:`)

// The scratch disk must have a journal, take hardly any room, and leave the
// guest's kernel nothing to initialize while something is measured.
func TestScratchDisk(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, fileScratch)
	if err := makeScratch(t.Context(), dir, diskRaw, bench.GiB); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	if st.Size != int64(bench.GiB) || st.Blocks*512 > int64(4*bench.MiB) {
		t.Errorf("%d bytes, of which %d take room", st.Size, st.Blocks*512)
	}
	out, err := exec.Command("dumpe2fs", path).Output()
	if err != nil {
		t.Skipf("dumpe2fs: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "Filesystem features:") && !strings.Contains(line, "has_journal") {
			t.Error(line)
		}
		if groupLine.MatchString(line) && !strings.Contains(line, "ITABLE_ZEROED") {
			t.Errorf("the guest would have to zero inode tables: %s", line)
		}
	}
	if err := makeScratch(t.Context(), dir, diskRaw, bench.GiB); err == nil {
		t.Error("a disk that is there was made again")
	}
}

// initramfs is unpacked by another program and made only once.
func TestInitramfs(t *testing.T) {
	modules, dir := t.TempDir(), t.TempDir()
	write(t, filepath.Join(modules, "modules.builtin"), "kernel/virtio_pci.ko\nkernel/virtio_console.ko\nkernel/ext4.ko\n")
	write(t, filepath.Join(modules, "modules.dep"), "virtio_net.ko.xz: net-failover.ko\nnet-failover.ko:\nvirtio_blk.ko:\n")
	write(t, filepath.Join(modules, "virtio_blk.ko"), "blk")
	write(t, filepath.Join(modules, "net-failover.ko"), "failover")
	write(t, filepath.Join(modules, "virtio_net.ko"), "net")
	if out, err := exec.Command("xz", filepath.Join(modules, "virtio_net.ko")).CombinedOutput(); err != nil {
		t.Skipf("xz: %v: %s", err, out)
	}
	agent := filepath.Join(dir, "agent")
	write(t, agent, "an agent")

	first, err := initramfs(t.Context(), dir, agent, modules)
	if err != nil {
		t.Fatal(err)
	}
	archive, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"init":                    "an agent",
		"modules.list":            "/modules/virtio_blk.ko\n/modules/net_failover.ko\n/modules/virtio_net.ko\n",
		"modules/virtio_net.ko":   "net",
		"modules/net_failover.ko": "failover",
	} {
		cpio := exec.Command("cpio", "-i", "--quiet", "--to-stdout", name)
		cpio.Stdin = bytes.NewReader(archive)
		got, err := cpio.Output()
		if err != nil {
			t.Skipf("cpio: %v", err)
		}
		if d := cmp.Diff(want, string(got)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}

	if err := os.Remove(filepath.Join(modules, "virtio_blk.ko")); err != nil {
		t.Fatal(err)
	}
	if again, err := initramfs(t.Context(), dir, agent, modules); err != nil || again != first {
		t.Errorf("made again: %s, %v", again, err)
	}
	write(t, agent, "another agent")
	if _, err := initramfs(t.Context(), dir, agent, modules); err == nil || !strings.Contains(err.Error(), "virtio_blk.ko") {
		t.Errorf("for another agent, with a module gone: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*.tmp")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if err := os.Remove(filepath.Join(modules, "modules.dep")); err != nil {
		t.Fatal(err)
	}
	if _, err := initramfs(t.Context(), dir, agent, modules); bench.HintOf(err) == "" {
		t.Errorf("without modules.dep there is no hint: %v", err)
	}
}

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
	ln, err := listen(dir, "s")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if info, err := os.Stat(filepath.Join(dir, "s")); err != nil || info.Mode().Type() != os.ModeSocket {
		t.Errorf("%v, %v", info, err)
	}
}
