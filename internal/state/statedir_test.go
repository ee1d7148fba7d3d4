package state_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tare/internal/bench"
	"tare/internal/state"
)

// dir is one with the mode and files.
func dir(t *testing.T, mode fs.FileMode, files ...string) string {
	t.Helper()
	d := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(d, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(d, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(d, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(d, mode); err != nil {
		t.Fatal(err)
	}
	return d
}

func modeOf(t *testing.T, d string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(d)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

func TestMake(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	missing := filepath.Join(t.TempDir(), "var", "lib", "tare")
	for name, c := range map[string]struct {
		dir   string
		found fs.FileMode
	}{
		"not there":                  {missing, 0},
		"closed":                     {dir(t, 0o700, "anything"), 0},
		"empty and open":             {dir(t, 0o755), 0o755},
		"open, of an earlier Tare":   {dir(t, 0o755, "ledger.lock", "images/.lock"), 0o755},
		"searchable, with images":    {dir(t, 0o711, "images/.lock"), 0o711},
		"readable by a group":        {dir(t, 0o750, "ledger.lock"), 0o750},
		"unreadable to itself, even": {dir(t, 0o500), 0},
	} {
		found, err := state.Make(c.dir)
		if err != nil || found.Perm() != c.found {
			t.Errorf("%s: it had the mode %v, %v; want %v", name, found, err, c.found)
		}
		if mode := modeOf(t, c.dir); mode&0o077 != 0 {
			t.Errorf("%s: it is left %v", name, mode)
		}
	}
	if mode := modeOf(t, filepath.Dir(missing)); mode != 0o755 {
		t.Errorf("the directory above was made %v: others have business in it", mode)
	}
}

// What is not Tare's, or may not be, is refused and stays as it is.
func TestMakeRefuses(t *testing.T) {
	given := dir(t, 0o700)
	if os.Geteuid() == 0 {
		if err := os.Chown(given, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	} else {
		given = "/proc/1" // of root, which only root may be
	}
	file := filepath.Join(dir(t, 0o700, "file"), "file")
	for name, c := range map[string]struct{ dir, want string }{
		"another's":              {given, "belongs to user "},
		"writable by all":        {dir(t, 0o777|fs.ModeSticky), "others may write into it (dtrwxrwxrwx)"},
		"writable by a group":    {dir(t, 0o770, "ledger.lock"), "others may write"},
		"open, of somebody else": {dir(t, 0o755, "index.html", "images/logo"), "not Tare's"},
		"a file":                 {file, "not a directory"},
	} {
		before, err := os.Stat(c.dir)
		if err != nil {
			t.Fatal(err)
		}
		_, err = state.Make(c.dir)
		if err == nil || !strings.Contains(err.Error(), c.want) || bench.HintOf(err) == "" {
			t.Errorf("%s: %v (hint %q); want %q", name, err, bench.HintOf(err), c.want)
		}
		if c.dir != file && !errors.Is(err, bench.ErrInvalid) {
			t.Errorf("%s: %v does not wrap ErrInvalid", name, err)
		}
		if after, err := os.Stat(c.dir); err != nil || after.Mode() != before.Mode() {
			t.Errorf("%s: it was changed to %v, %v", name, after, err)
		}
	}
}
