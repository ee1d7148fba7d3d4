package launch

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// entries notes what is entered, and whether the thing was there by then.
type entries []string

func (b *entries) Register(kind, name string) error {
	_, err := os.Lstat(name)
	if err == nil {
		kind += ", made before"
	}
	*b = append(*b, "+"+kind)
	return nil
}

func (b *entries) Release(kind, name string) error {
	*b = append(*b, "-"+kind)
	return nil
}

// A directory of the host is in the ledger before it is made, for a run may be killed
// at any moment; one that is there already is not ours.
func TestProvide(t *testing.T) {
	var undo Undo
	var b entries
	dir := filepath.Join(t.TempDir(), "place")
	if err := Provide(&undo, &b, dir); err != nil {
		t.Fatal(err)
	}
	if err := Provide(&undo, &b, filepath.Dir(dir)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
	if err := undo.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is left: %v", err)
	}
	if _, err := os.Stat(filepath.Dir(dir)); err != nil {
		t.Errorf("what was not ours is gone: %v", err)
	}
	if want := []string{"+place", "-place"}; !slices.Equal(b, want) {
		t.Errorf("ledger %v, want %v", b, want)
	}
}
