package ledger

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"tare/internal/bench"
)

// Whoever opens a ledger closes its directory to others, or is refused where others could have written into it.
func TestOpenClosesTheStateDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	for _, before := range []os.FileMode{0, 0o755} {
		if before != 0 {
			if err := os.Chmod(dir, before); err != nil {
				t.Fatal(err)
			}
		}
		l, err := Open(dir, "r1")
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Register(bench.KindProcess, "r1-a"); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("of mode %v it became %v, %v", before, info.Mode(), err)
		}
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, "r1"); !errors.Is(err, bench.ErrInvalid) {
		t.Errorf("a directory that all may write into: %v", err)
	}
}
