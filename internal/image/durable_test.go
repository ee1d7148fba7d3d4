package image

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"tare/internal/verify/powercut"
)

// TestDurableForm loses the power while a form of an image is adopted: one that has a record is what the record says,
// and no record is torn.
func TestDurableForm(t *testing.T) {
	powercut.Run(t, powercut.Scenario{
		Before: func(dir string) error { return os.Mkdir(filepath.Join(dir, "work"), 0o755) },
		Act: func(dir string, promise func(string)) error {
			made := filepath.Join(dir, "work", tarFormat)
			if err := os.WriteFile(made, bytes.Repeat([]byte("tar"), 100), 0o644); err != nil {
				return err
			}
			return (&Image{dir: dir}).adopt(made, filepath.Join(dir, "forms", tarFormat))
		},
		Check: func(dir string, promised []string) error {
			i := &Image{dir: dir}
			if err := i.verifyFormats(); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if _, err := os.Stat(filepath.Join(dir, "forms", tarFormat+".json")); err == nil && len(i.formats()) == 0 {
				return errors.New("the record is torn")
			}
			return nil
		},
		Guards: `
sync work/root.tar: before rename to forms/root.tar.json
sync forms/.new-*: before rename to forms/root.tar.json
`,
	})
}
