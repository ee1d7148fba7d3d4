package own

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// elfHead begins an ELF file of 64 bits for a machine.
func elfHead(kind, machine byte) string {
	return "\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9) + string([]byte{kind, 0, machine, 0}) + strings.Repeat("\x00", 100)
}

// bzHead begins a bzImage.
var bzHead = "MZ" + strings.Repeat("\x00", 0x200) + "HdrS" + strings.Repeat("\x00", 100)

func kernelOf(path string) bench.OwnKernel {
	return bench.OwnKernel{Kernel: bench.BootFile{Path: path}}
}

func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "k")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestKernel(t *testing.T) {
	for name, text := range map[string]string{"bzImage": bzHead, "for x86-64": elfHead(2, 62), "Multiboot": elfHead(2, 3)} {
		path := written(t, text)
		k, err := Kernel(t.Context(), kernelOf(path))
		if err != nil || k.Kernel.Size != bench.Bytes(len(text)) || !strings.HasPrefix(k.Kernel.Digest, "sha256:") {
			t.Errorf("%s: %+v, %v", name, k, err)
		}
	}
}

// What no monitor could start is refused with how it begins; what has no end is not waited for.
func TestKernelRefused(t *testing.T) {
	dir := t.TempDir()
	pipe, loop, large := filepath.Join(dir, "pipe"), filepath.Join(dir, "loop"), filepath.Join(dir, "large")
	if err := errors.Join(unix.Mkfifo(pipe, 0o600), os.Symlink(loop, loop), os.WriteFile(large, []byte(bzHead), 0o600), os.Truncate(large, int64(maxBoot)+1)); err != nil {
		t.Fatal(err)
	}
	zero := filepath.Join(dir, "zero")
	if err := os.Symlink("/dev/zero", zero); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, says string }{
		{written(t, "#!/bin/sh\nexit\n"), `neither an ELF file nor a bzImage: begins with "#!/bin/sh\nexit\n"`},
		{written(t, ""), "it is empty"},
		{written(t, "\x7fELF"), "its header is cut off"},
		{written(t, elfHead(2, 183)), "for EM_AARCH64, which this host's monitors do not start"},
		{written(t, elfHead(1, 62)), "of type ET_REL"},
		{dir, "not a file"},
		{pipe, "not a file"},
		{zero, "not a file"},
		{loop, "too many levels of symbolic links"},
		{large, "at most 2 GiB are booted"},
		{filepath.Join(dir, "none"), "no such file"},
	} {
		_, err := Kernel(t.Context(), kernelOf(c.path))
		if !errors.Is(err, bench.ErrInvalid) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), c.path) {
			t.Errorf("%s: %v, want %q", c.path, err, c.says)
		}
	}
}

// A disk is any file that has an end; what is none is refused by its name, with a hint.
func TestDiskRefused(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ path, says, hint string }{
		{filepath.Join(dir, "none"), "no such file", "relative to the directory"},
		{dir, "not a file", "no directory, device or pipe"},
		{"/dev/zero", "not a file", "no directory, device or pipe"},
		{written(t, ""), "it is empty", ""},
	} {
		k := kernelOf(written(t, bzHead))
		k.Disk = &bench.BootFile{Path: c.path}
		_, err := Kernel(t.Context(), k)
		if !errors.Is(err, bench.ErrInvalid) || !strings.HasPrefix(err.Error(), DiskName) || !strings.Contains(err.Error(), c.says) ||
			!strings.Contains(err.Error(), c.path) || !strings.Contains(bench.HintOf(err), c.hint) {
			t.Errorf("%s: %v, hint %q", c.path, err, bench.HintOf(err))
		}
	}
}

// A run boots copies of its own: a file that has changed is refused, and what changes later changes nothing.
func TestKeep(t *testing.T) {
	path, dir := written(t, bzHead), t.TempDir()
	asked := kernelOf(path)
	asked.Initrd = &bench.BootFile{Path: written(t, "anything")}
	asked.Disk = &bench.BootFile{Path: written(t, "any content")}
	k, err := Kernel(t.Context(), asked)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := Keep(t.Context(), *k, dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(bzHead+"another"), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(kept.Kernel.Path)
	if err != nil || string(text) != bzHead || kept.Initrd.Path == k.Initrd.Path || kept.Disk.Path == k.Disk.Path || kept.Disk.Digest != k.Disk.Digest ||
		asked.Disk.Digest != "" || k.Kernel.Path != path {
		t.Errorf("kept %+v of %+v, %v", kept, k, err)
	}
	if _, err := Keep(t.Context(), *k, t.TempDir()); !errors.Is(err, bench.ErrInvalid) || !strings.Contains(err.Error(), "by now, and not "+k.Kernel.Digest) {
		t.Errorf("another kernel: %v", err)
	}
}

func FuzzCheckKernel(f *testing.F) {
	f.Add([]byte(bzHead))
	f.Add([]byte(elfHead(2, 62)))
	f.Add([]byte("\x7fELF\x02\x01"))
	f.Fuzz(func(t *testing.T, head []byte) {
		if err := checkKernel(head); err == nil && !strings.HasPrefix(string(head), "\x7fELF") && !strings.Contains(string(head), "HdrS") {
			t.Errorf("%.40q passes", head)
		}
	})
}
