package reproduce

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/bench"
)

// TestSeal finds a file that was changed, one that is gone and one that leads elsewhere.
func TestSeal(t *testing.T) {
	write := func(t *testing.T, path, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for name, spoil := range map[string]func(t *testing.T, root string){
		"":                  func(*testing.T, string) {},
		"overhead/run.json": func(t *testing.T, root string) { write(t, filepath.Join(root, "overhead/run.json"), "other") },
		"claims.json": func(t *testing.T, root string) {
			if err := os.Remove(filepath.Join(root, "claims.json")); err != nil {
				t.Fatal(err)
			}
		},
		"report.html": func(t *testing.T, root string) {
			path := filepath.Join(root, "report.html")
			if err := errors.Join(os.Remove(path), os.Symlink("/etc/hostname", path)); err != nil {
				t.Fatal(err)
			}
		},
		"is no digest": func(t *testing.T, root string) { write(t, filepath.Join(root, sums), "../../etc/passwd\n") },
	} {
		root := t.TempDir()
		for _, file := range []string{"overhead/run.json", "overhead/lock", "claims.json", "report.html"} {
			write(t, filepath.Join(root, file), file)
		}
		if err := CheckSeal(root); err != nil {
			t.Errorf("not sealed: %v", err)
		}
		if err := Seal(root); err != nil {
			t.Fatal(err)
		}
		spoil(t, root)
		err := CheckSeal(root)
		if (err != nil) != (name != "") || name != "" && (!strings.Contains(err.Error(), name) || !errors.Is(err, bench.ErrInvalid)) {
			t.Errorf("%q: %v", name, err)
		}
	}
}
