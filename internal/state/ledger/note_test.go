package ledger

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"tare/internal/bench"
)

// CRIU killed while it takes its note of the kernel leaves the half it has written beside it.
func TestCleanTakesCRIUsNoteAway(t *testing.T) {
	root(t)
	if err := os.Rename(bench.CRIUNote, bench.CRIUNote+".kept"); err == nil { // somebody on this host uses CRIU
		defer os.Rename(bench.CRIUNote+".kept", bench.CRIUNote)
	}
	state := filepath.Join(t.TempDir(), "state")
	must(t, os.Mkdir(state, 0o700))
	kill := owner(t, state, bench.KindNote, bench.CRIUNote)
	must(t, os.WriteFile(bench.CRIUNote+".tmp", nil, 0o600))
	kill()
	if _, err := clean(t, state, false); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(bench.CRIUNote + ".tmp"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is left: %v", err)
	}
}
