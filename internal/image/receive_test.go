package image

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/bench"
)

// container lays the image out as the root of a container that runs it when it is saved.
func container(t *testing.T, i *Image) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "container")
	copied := func(from, to string) {
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	copied(filepath.Join(i.dir, "root"), root)
	for place, from := range i.Beside() {
		copied(from, filepath.Join(root, place))
	}
	// What a runtime puts there.
	for _, dir := range []string{"host", "run/secrets/kubernetes.io/serviceaccount"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestTheImageOfAContainerIsTheOneThatWasSaved(t *testing.T) {
	from := fakeStore(t, "")
	saved := build(t, from)
	defer saved.Close()
	root := container(t, saved)
	to := &Store{Dir: t.TempDir(), Recipe: from.Recipe}
	got, err := to.Receive(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	if got.Digest() != saved.Digest() {
		t.Errorf("digest %s, want %s", got.Digest(), saved.Digest())
	}
	if err := got.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	got.Close()
	if err := os.Remove(filepath.Join(root, besidePlace, "manifest.json")); err != nil {
		t.Fatal(err)
	}
	again, err := to.Receive(t.Context(), root) // of what is there already nothing is read
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

func TestAContainerOfAnotherImageIsRefused(t *testing.T) {
	from := fakeStore(t, "")
	saved := build(t, from)
	defer saved.Close()
	for name, c := range map[string]struct {
		change func(root string) error
		recipe func(*Recipe)
		says   string
	}{
		"none of ours":   {change: func(root string) error { return os.Remove(filepath.Join(root, besidePlace, "manifest.json")) }, says: "no image of Tare's"},
		"another recipe": {recipe: func(r *Recipe) { r.Epoch++ }, says: "this program needs"},
		"a file changed": {change: func(root string) error { return os.WriteFile(filepath.Join(root, "new"), nil, 0o644) }},
		"a file is gone": {change: func(root string) error { return os.Rename(filepath.Join(root, "usr"), filepath.Join(root, "moved")) }, says: "are not the image"},
		"another list":   {change: func(root string) error { return os.WriteFile(filepath.Join(root, besidePlace, "listing"), nil, 0o644) }, says: "its listing has digest"},
	} {
		root := container(t, saved)
		to := &Store{Dir: t.TempDir(), Recipe: from.Recipe, Ledger: &recorder{t: t, open: map[string]bool{}}}
		if c.change != nil {
			if err := c.change(root); err != nil {
				t.Fatal(err)
			}
		}
		if c.recipe != nil {
			c.recipe(&to.Recipe)
		}
		got, err := to.Receive(t.Context(), root)
		if c.says == "" { // what is not the image's is left out
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			got.Close()
			continue
		}
		if !errors.Is(err, bench.ErrInvalid) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		settled(t, to)
	}
}
