package tree

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Links in a tree are deleted with it. Their targets stay.
func TestRemove(t *testing.T) {
	dir, precious := t.TempDir(), t.TempDir()
	must(t, os.WriteFile(precious+"/file", nil, 0o600))
	must(t, os.MkdirAll(dir+"/a/b", 0o700))
	must(t, os.Symlink(precious, dir+"/a/b/link"))
	must(t, os.Symlink(precious, dir+"/link"))
	for _, path := range []string{"", dir + "/none", dir + "/none/below", dir + "/a", dir + "/link"} {
		if err := Remove(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if _, err := os.Stat(precious + "/file"); err != nil {
		t.Errorf("deleted through a link: %v", err)
	}
}

// Nothing is deleted while something is mounted in the tree, however the tree is named.
func TestRemoveStopsAtMounts(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	dir, precious, links := t.TempDir(), t.TempDir(), t.TempDir()
	must(t, os.WriteFile(precious+"/file", nil, 0o600))
	at := filepath.Join(dir, `state/tree/a b\040`)
	must(t, os.MkdirAll(at, 0o700))
	must(t, os.Symlink(dir+"/state", links+"/state"))
	must(t, unix.Mount(precious, at, "", unix.MS_BIND, ""))
	defer unix.Unmount(at, unix.MNT_DETACH)
	t.Chdir(dir)
	for _, path := range []string{dir + "/state/tree", links + "/state/tree", "state/tree", at} {
		for what, err := range map[string]error{"Remove": Remove(path), "Unmounted": Unmounted(path)} {
			if err == nil || bench.HintOf(err) != "umount "+at {
				t.Errorf("%s of %s: %v, hint %q", what, path, err, bench.HintOf(err))
			}
		}
	}
	if _, err := os.Stat(precious + "/file"); err != nil {
		t.Errorf("deleted through the mount: %v", err)
	}
	must(t, unix.Unmount(at, 0))
	must(t, Unmounted(dir+"/state/tree"))
	must(t, Remove(links+"/state/tree"))
	if _, err := os.Stat(dir + "/state/tree"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
