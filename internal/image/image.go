package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// rebuild is the way out when an image is damaged.
const rebuild = bench.Hint("tare image rm, then tare image build")

// Image is a built image, held against removal until it is closed.
type Image struct {
	dir      string
	hold     *os.File // the image's lock, shared
	manifest Manifest
	store    *Store
}

var _ bench.Image = (*Image)(nil)

// Manifest tells what is in the image.
func (i *Image) Manifest() Manifest { return i.manifest }

// Digest identifies recipe and content, "sha256:...".
func (i *Image) Digest() string { return i.manifest.Digest }

// Close lets go of the image.
func (i *Image) Close() error { return i.hold.Close() }

// Root returns the root file system as a directory. Nothing may be written in
// it: the next Open would find it.
func (i *Image) Root(context.Context) (string, error) {
	return filepath.Join(i.dir, "root"), nil
}

// Kernel returns the guest kernel and the directory of its modules, which are
// compressed as Debian ships them and have a modules.dep.
func (i *Image) Kernel(context.Context) (kernel, modules string, err error) {
	if i.manifest.Kernel == "" {
		return "", "", fmt.Errorf("image: built without a kernel: %w", bench.ErrUnavailable)
	}
	return filepath.Join(i.dir, "kernel/boot/vmlinuz-"+i.manifest.Kernel),
		filepath.Join(i.dir, "kernel/lib/modules", i.manifest.Kernel), nil
}

// Verify reads every file of the image and of its forms and compares them with
// what was built. The error names the first paths that differ.
func (i *Image) Verify(ctx context.Context) error {
	want, err := os.ReadFile(filepath.Join(i.dir, "listing"))
	if err != nil {
		return fmt.Errorf("verify image: %w", err)
	}
	if d := DigestOf(want); d != i.manifest.Digest {
		return fmt.Errorf("verify image: its listing has digest %s, its manifest says %s%w", d, i.manifest.Digest, rebuild)
	}
	entries, err := Scan(ctx, i.dir, trees(i.manifest.Kernel)...)
	if err != nil {
		return fmt.Errorf("verify image: %w", err)
	}
	got := Listing(i.manifest.RecipeHash, entries)
	if paths := diffListings(want, got); len(paths) > 0 {
		return fmt.Errorf("verify image %s: %s%w", i.manifest.Digest, describe(paths), rebuild)
	}
	return i.verifyFormats()
}

// describe names the first few of the paths that differ.
func describe(paths []string) string {
	const most = 5
	if len(paths) == 1 {
		return paths[0] + " differs from what was built"
	}
	s := fmt.Sprintf("%d files differ from what was built: ", len(paths))
	if len(paths) > most {
		return s + strings.Join(paths[:most], ", ") + ", ..."
	}
	return s + strings.Join(paths, ", ")
}

// trees are the directories whose content the digest covers.
func trees(kernel string) []string {
	if kernel == "" {
		return []string{"root"}
	}
	return []string{"root", "kernel"}
}

// check compares the sizes and times of all files with those at the last full
// look; where they differ (a copy from a backup, or tampering) it looks fully.
func (i *Image) check(ctx context.Context) error {
	now, err := stamp(i.dir, trees(i.manifest.Kernel)...)
	if err != nil {
		return fmt.Errorf("check image: %w%w", err, rebuild)
	}
	then, err := os.ReadFile(filepath.Join(i.dir, "stamp"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("check image: %w", err)
	}
	if now == string(then) {
		return nil
	}
	i.store.say("the image's files were touched: reading them all")
	if err := i.Verify(ctx); err != nil {
		return err
	}
	return writeFile(filepath.Join(i.dir, "stamp"), []byte(now))
}

// stamp condenses path, size, modification and change time of every file. A
// write cannot leave the change time as it was.
func stamp(dir string, trees ...string) (string, error) {
	h := sha256.New()
	for _, tree := range trees {
		top := filepath.Join(dir, tree)
		err := filepath.WalkDir(top, func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			var st unix.Stat_t
			if err := unix.Lstat(path, &st); err != nil {
				return &fs.PathError{Op: "lstat", Path: path, Err: err}
			}
			fmt.Fprintf(h, "%s\x00%d %d %d\n", path[len(dir):], st.Size, st.Mtim.Nano(), st.Ctim.Nano())
			return nil
		})
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)) + "\n", nil
}

// writeFile replaces a file at once: after a loss of power it is the old or the new.
func writeFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return os.Rename(f.Name(), path)
}
