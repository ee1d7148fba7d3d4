package image

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/bench"
	"tare/internal/host/tree"
)

// TestGoldenForReal builds the golden image from a Debian mirror, which takes
// half a minute, makes every form of it and looks at what they hold.
func TestGoldenForReal(t *testing.T) {
	needRoot(t)
	if testing.Short() {
		t.Skip("-short: the image is built from a mirror")
	}
	dir, err := os.MkdirTemp("/var/tmp", "tare-image-test-") // not tmpfs, as /tmp may be
	must(t, err)
	t.Cleanup(func() { must(t, tree.Remove(dir)) })
	s := New(dir)
	s.Ledger = &recorder{t: t, open: map[string]bool{}}
	ctx := context.Background()
	unlock, err := s.lock(ctx) // makes the directory
	must(t, err)
	unlock()
	if err := s.preflight(); errors.Is(err, bench.ErrUnavailable) {
		t.Skipf("the image cannot be built here: %v (%s)", err, bench.HintOf(err))
	}
	took := func(what string, f func() error) {
		t.Helper()
		start := time.Now()
		must(t, f())
		t.Logf("%-10s %6.2f s", what, time.Since(start).Seconds())
	}

	var i *Image
	took("build", func() (err error) { i, err = s.Build(ctx); return err })
	i.Close()
	settled(t, s)
	took("open", func() (err error) { i, err = s.Open(ctx); return err })
	defer i.Close()
	took("verify", func() error { return i.Verify(ctx) })
	var archive, disk string
	took("tar", func() (err error) { archive, err = i.Tar(ctx); return err })
	took("disk", func() (err error) { disk, err = i.Disk(ctx); return err })
	took("verify all", func() error { return i.Verify(ctx) })
	m := i.Manifest()
	t.Logf("%d packages, %d files, %s, programs %v, kernel %s", len(m.Packages), m.Files, bench.Bytes(m.Bytes), m.Programs, m.Kernel)
	for name, f := range i.formats() {
		t.Logf("%s: %s, %s on disk", name, f.Size, f.OnDisk)
	}

	for _, p := range s.Recipe.Programs {
		if m.Programs[p.Name] == "" {
			t.Errorf("no version of %s", p.Name)
		}
	}
	root, err := i.Root(ctx)
	must(t, err)
	want := scanTree(t, root)
	f, err := os.Open(archive)
	must(t, err)
	defer f.Close()
	sameListing(t, "tar", want, listTar(t, f))
	checkLibraries(t, root)
	checkKernel(t, i)
	sameListing(t, "disk", want, withoutLostFound(scanTree(t, mountDisk(t, disk))))
}

// checkLibraries asks the tree's own loader whether the files left out of
// packages are missed by any program, and which BLAS hpcc gets.
func checkLibraries(t *testing.T, root string) {
	t.Helper()
	for _, p := range Golden().Programs {
		if !strings.HasPrefix(p.Path, "/usr/bin/") {
			continue
		}
		cmd := exec.Command("/lib64/ld-linux-x86-64.so.2", "--list", p.Path)
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
		cmd.Dir, cmd.Env = "/", []string{}
		out, err := cmd.CombinedOutput()
		if err != nil || bytes.Contains(out, []byte("not found")) {
			t.Errorf("libraries of %s: %v\n%s", p.Name, err, out)
		}
		if p.Name == "hpcc" && !bytes.Contains(out, []byte("libopenblas")) && !bytes.Contains(out, []byte("libblas.so.3")) {
			t.Errorf("hpcc takes no BLAS of the image:\n%s", out)
		}
	}
	blas, err := os.Readlink(filepath.Join(root, "etc/alternatives/libblas.so.3-x86_64-linux-gnu"))
	if err != nil || !strings.Contains(blas, "openblas-pthread") {
		t.Errorf("BLAS is %q, %v", blas, err)
	}
}

func checkKernel(t *testing.T, i *Image) {
	t.Helper()
	kernel, modules, err := i.Kernel(context.Background())
	must(t, err)
	data, err := os.ReadFile(kernel)
	must(t, err)
	if len(data) < 1<<20 || string(data[0x202:0x206]) != "HdrS" { // Linux boot protocol, the header's magic
		t.Errorf("%s is no bzImage", kernel)
	}
	dep, err := os.ReadFile(filepath.Join(modules, "modules.dep"))
	must(t, err)
	for _, module := range []string{"virtio_blk.ko", "virtio_net.ko", "overlay.ko"} {
		line := ""
		for l := range strings.Lines(string(dep)) {
			if name, _, _ := strings.Cut(l, ":"); strings.Contains(name, "/"+module) {
				line = name
			}
		}
		if _, err := os.Stat(filepath.Join(modules, line)); line == "" || err != nil {
			t.Errorf("module %s: %q in modules.dep, %v", module, line, err)
		}
	}
}
