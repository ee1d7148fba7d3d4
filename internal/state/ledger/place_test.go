package ledger

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"tare/internal/bench"
)

// A place is removed while it is empty, and only one of those that are known.
func TestRemovePlace(t *testing.T) {
	for what, c := range map[string]struct {
		make func(path string) error
		gone bool
	}{
		"empty":             {func(p string) error { return os.Mkdir(p, 0o755) }, true},
		"gone already":      {func(string) error { return nil }, true},
		"used by somebody":  {func(p string) error { return os.MkdirAll(p+"/plugins", 0o755) }, false},
		"a file":            {func(p string) error { return os.WriteFile(p, nil, 0o600) }, false},
		"a link to another": {func(p string) error { return os.Symlink(t.TempDir(), p) }, false},
	} {
		path := filepath.Join(t.TempDir(), "place")
		if err := c.make(path); err != nil {
			t.Fatal(err)
		}
		err := removePlace(path)
		if _, left := os.Lstat(path); err != nil || errors.Is(left, os.ErrNotExist) != c.gone {
			t.Errorf("%s: %v, left %v", what, err, left)
		}
	}
	for _, path := range append([]string{"/run", "/run/user", "/run/docker/", "/etc", "run/docker", "/run/docker/../../etc"}, bench.Places...) {
		known := checkThing(t.TempDir(), bench.KindPlace, path) == nil
		listed := false
		for _, p := range bench.Places {
			listed = listed || p == path
		}
		if known != listed {
			t.Errorf("%s: may be removed: %t", path, known)
		}
	}
}
