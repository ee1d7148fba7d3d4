package vm

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/bench"
)

// imageOf is an image whose kernel has these modules.
type imageOf struct {
	bench.Image
	modules string
}

func (i imageOf) Kernel(context.Context) (kernel, modules string, err error) {
	return "/img/vmlinuz", i.modules, nil
}

// aKernel is the beginning of a bzImage of the release.
func aKernel(release string) string {
	image := make([]byte, 0x1000)
	copy(image[0x202:], "HdrS")
	image[0x20e], image[0x20f] = 0x00, 0x04
	copy(image[0x600:], release+" (x) #1\x00")
	return string(image)
}

// modulesIn makes a directory of modules: all that the agent needs, or none of them.
func modulesIn(t *testing.T, dir string, complete bool) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	dep, builtin := "", ""
	if complete {
		dep = "virtio_blk.ko:\n"
		write(t, filepath.Join(dir, "virtio_blk.ko"), "blk")
		builtin = "virtio_pci.ko\nvirtio_net.ko\nvirtio_console.ko\next4.ko\n"
	}
	write(t, filepath.Join(dir, "modules.dep"), dep)
	write(t, filepath.Join(dir, "modules.builtin"), builtin)
	return dir
}

// Modules come from beside the kernel, else from the image if they are of the same release. A kernel
// without any must have its drivers built in; then every list is there and empty.
func TestKernelsOfTheHost(t *testing.T) {
	dir := t.TempDir()
	agent := filepath.Join(dir, "agent")
	write(t, agent, "an agent")
	ofImage := modulesIn(t, filepath.Join(dir, "img", "6.1.0-1"), true)
	e := bench.Env{Image: imageOf{modules: ofImage}, Dir: dir, AgentPath: agent}
	kernel := func(name, release string) string {
		path := filepath.Join(dir, name, "boot", "vmlinuz")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, path, aKernel(release))
		return path
	}
	same, other, packed := kernel("same", "6.1.0-1"), kernel("other", "6.2.0"), kernel("packed", "6.2.0")
	beside := modulesIn(t, filepath.Join(dir, "packed", "usr", "lib", "modules", "6.2.0"), true)
	link := filepath.Join(dir, "link")
	if err := os.Symlink(packed, link); err != nil {
		t.Fatal(err)
	}
	var ks Kernels
	for path, want := range map[string]string{same: ofImage, other: "", packed: beside, link: beside} {
		k, err := ks.Get(t.Context(), e, path)
		if err != nil {
			t.Fatal(err)
		}
		if k.Modules != want || k.Path != path || !filepath.IsAbs(k.Initrd) {
			t.Errorf("%+v, want modules of %q", k, want)
		}
		archive, err := os.ReadFile(k.Initrd)
		if err != nil {
			t.Fatal(err)
		}
		if has := strings.Contains(string(archive), "modules/virtio_blk.ko"); has != (want != "") || !strings.Contains(string(archive), "modules-nvme.list") != (want != "") {
			t.Errorf("%s: module in it: %v", path, has)
		}
		if again, err := ks.Get(t.Context(), e, path); err != nil || again != k {
			t.Errorf("made again: %v, %v", again, err)
		}
	}
	if files := ks.Files(); len(files) != 8 || !slices.Contains(files, other) {
		t.Errorf("files %q", files)
	}
	if k, err := ks.Get(t.Context(), e, other); err != nil || !strings.Contains(k.String(), "release 6.2.0, without modules: its drivers") {
		t.Errorf("%v, %v", k, err)
	}

	lacking := kernel("lacking", "6.3.0")
	modulesIn(t, filepath.Join(dir, "lacking", "lib", "modules", "6.3.0"), false)
	if _, err := ks.Get(t.Context(), e, lacking); err == nil || !strings.Contains(err.Error(), "kernel has no module virtio_pci") || !strings.Contains(err.Error(), lacking) {
		t.Errorf("modules that lack a driver: %v", err)
	}
	open := kernel("open", "6.4.0")
	if err := os.Chmod(modulesIn(t, filepath.Join(dir, "open", "lib", "modules", "6.4.0"), true), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := ks.Get(t.Context(), e, open); !errors.Is(err, bench.ErrInvalid) || bench.HintOf(err) == "" {
		t.Errorf("modules that everybody may write: %v", err)
	}
	if _, err := ks.Get(t.Context(), e, filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if _, err := ks.Get(t.Context(), e, agent); !errors.Is(err, bench.ErrInvalid) {
		t.Errorf("not a kernel: %v", err)
	}
}
