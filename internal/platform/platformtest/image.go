package platformtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"tare/internal/bench"
	"tare/internal/image"
)

// rootEnv names a root file system to test with instead of the golden image.
const rootEnv = "TARE_TEST_ROOT"

// Image returns the golden image of this host's state directory, or the tree
// that TARE_TEST_ROOT names. Without either the test is skipped.
func Image(t testing.TB) bench.Image {
	t.Helper()
	if root := os.Getenv(rootEnv); root != "" {
		return &tree{root: root, dir: t.TempDir()}
	}
	golden, err := image.New(bench.StateDir).Open(t.Context())
	if errors.Is(err, bench.ErrUnavailable) {
		t.Skipf("%v; build it, or name a root file system in %s", err, rootEnv)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := golden.Close(); err != nil {
			t.Error(err)
		}
	})
	return golden
}

// tree is a root file system as it lies there, for platforms that need no disk.
type tree struct{ root, dir string }

func (tr *tree) Digest() string                       { return "sha256:untold" }
func (tr *tree) Root(context.Context) (string, error) { return tr.root, nil }

func (tr *tree) Tar(ctx context.Context) (string, error) {
	path := filepath.Join(tr.dir, "root.tar")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	f, err := os.Create(path + ".new")
	if err != nil {
		return "", err
	}
	if err := errors.Join(image.Archive(ctx, f, tr.root), f.Close()); err != nil {
		return "", err
	}
	return path, os.Rename(f.Name(), path)
}

func (tr *tree) Disk(context.Context) (string, error) { return "", errTree }

func (tr *tree) Kernel(context.Context) (kernel, modules string, err error) { return "", "", errTree }

var errTree = fmt.Errorf("%s gives no disk and no kernel: %w", rootEnv, bench.ErrUnavailable)
