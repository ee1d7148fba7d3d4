package image

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"tare/internal/bench"
)

// What an image has where instances are given something is a directory, and no link to elsewhere.
func TestPlaces(t *testing.T) {
	for name, c := range map[string]struct {
		make func(root string) error
		good bool
	}{
		"nothing":   {func(string) error { return nil }, true},
		"its own":   {func(root string) error { return os.MkdirAll(filepath.Join(root, "etc/systemd/system"), 0o755) }, true},
		"a link":    {func(root string) error { return os.Symlink("/etc", filepath.Join(root, "scratch")) }, false},
		"a file":    {func(root string) error { return os.WriteFile(filepath.Join(root, "proc"), nil, 0o644) }, false},
		"our agent": {func(root string) error { return os.Symlink("/etc/passwd", filepath.Join(root, ".tare-agent")) }, false},
		"our unit's": {func(root string) error {
			return errors.Join(os.Mkdir(filepath.Join(root, "etc"), 0o755), os.Symlink("/etc/systemd", filepath.Join(root, "etc/systemd")))
		}, false},
	} {
		root := t.TempDir()
		if err := c.make(root); err != nil {
			t.Fatal(err)
		}
		err := errors.Join(makeDirs(root, Own("").Dirs), checkPlaces(root))
		if c.good != (err == nil) || !c.good && !errors.Is(err, bench.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
		if info, err := os.Stat(filepath.Join(root, "tmp")); c.good && (err != nil || info.Mode() != os.ModeDir|os.ModeSticky|0o777) {
			t.Errorf("%s: tmp: %v, %v", name, info, err)
		}
	}
}
