package pagecache

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// onDisk returns a directory on a disk. Files of a file system in memory cannot be evicted.
func onDisk(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "tare-pagecache-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil || fs.Type == unix.TMPFS_MAGIC {
		t.Skipf("/var/tmp is in memory (%v)", err)
	}
	return dir
}

func TestDrop(t *testing.T) {
	dir := onDisk(t)
	const size = 1 << 20
	for _, name := range []string{"a", "below/b"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, make([]byte, size), 0o644); err != nil { // dirty
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	d, err := Drop([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	if d.Files != 2 {
		t.Errorf("%d files, want 2", d.Files)
	}
	if d.Before < 0 {
		t.Skip("this kernel has no cachestat(2)")
	}
	if d.Before != 2*size || d.Kept != 0 {
		t.Errorf("%d bytes before, %d kept; want %d and none", d.Before, d.Kept, 2*size)
	}
}

// TestDropLeavesWhatIsMapped checks that a running program keeps its pages.
func TestDropLeavesWhatIsMapped(t *testing.T) {
	path := filepath.Join(onDisk(t), "mapped")
	const size = 256 << 10
	if err := os.WriteFile(path, make([]byte, size), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(m)
	d, err := Drop([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	if d.Before >= 0 && d.Kept == 0 {
		t.Errorf("of a mapped file %d of %d bytes were kept", d.Kept, d.Before)
	}
}

func TestDropMissing(t *testing.T) {
	if _, err := Drop([]string{"/no/such/file"}); err == nil || !strings.Contains(err.Error(), "/no/such/file") {
		t.Errorf("error %v does not name the file", err)
	}
}

func TestPrograms(t *testing.T) {
	files := Programs([]string{"sh", "no-such-program"})
	if len(files) == 0 || !filepath.IsAbs(files[0]) {
		t.Fatalf("no file of sh: %q", files)
	}
	if !slices.ContainsFunc(files, func(f string) bool { return strings.HasPrefix(filepath.Base(f), "libc.so") }) {
		t.Errorf("sh is linked with libc, which is not among %q", files)
	}
}
