package run

import (
	"os"
	"path/filepath"
	"testing"
)

func TestOnDisk(t *testing.T) {
	dir, more := t.TempDir(), t.TempDir()
	write := func(path string, n int) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, make([]byte, n), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	size := func(paths ...string) int64 {
		t.Helper()
		n, err := onDisk(dir, paths)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := size(dir, more)
	write(dir+"/scratch.raw", 1<<20)
	write(dir+"/scratch/file", 1<<20)
	if n := size(dir, more); n != before {
		t.Errorf("scratch space counts: %d, %d without", n, before)
	}
	write(dir+"/upper/scratch/file", 64<<10)
	write(more+"/layer", 32<<10)
	if n := size(dir, more) - before; n < 96<<10 || n > 128<<10 {
		t.Errorf("96 KiB take %d bytes", n)
	}
	if n := size(dir, more, dir+"/not-there", "/proc"); n-before > 128<<10 {
		t.Errorf("what is not there, or on another file system, takes %d bytes", n)
	}
}

func TestHiddenFiles(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(dir + "/gone")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	before := hidden("/proc", os.Getpid(), dir)
	if err := os.Remove(f.Name()); err != nil {
		t.Fatal(err)
	}
	if n := hidden("/proc", os.Getpid(), dir) - before; n < 1<<20 || n > 2<<20 {
		t.Errorf("a removed file of 1 MiB takes %d bytes", n)
	}
	if n := hidden("/proc", os.Getpid(), "/proc"); n != 0 {
		t.Errorf("on another file system: %d bytes", n)
	}
}
