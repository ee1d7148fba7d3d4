package vm

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/bench"
)

// initramfs is unpacked by another program and made only once.
func TestInitramfs(t *testing.T) {
	modules, dir := t.TempDir(), t.TempDir()
	write(t, filepath.Join(modules, "modules.builtin"), "kernel/virtio_pci.ko\nkernel/virtio_console.ko\nkernel/ext4.ko\n")
	write(t, filepath.Join(modules, "modules.dep"), "virtio_net.ko.xz: net-failover.ko\nnet-failover.ko:\nvirtio_blk.ko:\n")
	write(t, filepath.Join(modules, "virtio_blk.ko"), "blk")
	write(t, filepath.Join(modules, "net-failover.ko"), "failover")
	write(t, filepath.Join(modules, "virtio_net.ko"), "net")
	if out, err := exec.Command("xz", filepath.Join(modules, "virtio_net.ko")).CombinedOutput(); err != nil {
		t.Fatalf("xz: %v: %s", err, out)
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
			t.Fatalf("cpio: %v", err)
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
