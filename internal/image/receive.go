package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tare/internal/bench"
	"tare/internal/host/tree"
)

// besidePlace is where a saved image has what an image is beside its root.
const besidePlace = ".tare/image"

// SavedName is the name of a saved image, unless it is given another.
func SavedName(digest string) string {
	return "localhost/tare:" + short(strings.TrimPrefix(digest, "sha256:"))
}

// Beside are the image's files beside its root, by their places in a saved image: with them [Store.Receive]
// makes the image anew of what is in a container.
func (i *Image) Beside() map[string]string {
	list := map[string]string{}
	for _, name := range []string{"manifest.json", "listing", "kernel"} {
		if name != "kernel" || i.manifest.Kernel != "" {
			list["/"+besidePlace+"/"+name] = filepath.Join(i.dir, name)
		}
	}
	return list
}

// Receive makes the image of the store's recipe, unless it is there, of the root file system of a
// container that runs a saved image. It is checked against its digest.
func (s *Store) Receive(ctx context.Context, container string) (*Image, error) {
	return s.make(ctx, "receive", func(work string) error {
		s.say("copying the image from the container")
		return s.receiveIn(ctx, work, container)
	}, func() error { return nil })
}

func (s *Store) receiveIn(ctx context.Context, work, container string) error {
	data, err := os.ReadFile(filepath.Join(container, besidePlace, "manifest.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the container has no image of Tare's: %w%w", bench.ErrInvalid, bench.Hint("tare image save writes one that has"))
	}
	if err != nil {
		return err
	}
	m, err := DecodeManifest(data)
	if err != nil {
		return err
	}
	if m.RecipeHash != s.Recipe.Hash() {
		return fmt.Errorf("the container has the image of recipe %s, and this program needs %s: %w%w", short(m.RecipeHash), short(s.Recipe.Hash()), bench.ErrInvalid,
			bench.Hint("save it by the same version: tare image save"))
	}
	listing, err := os.ReadFile(filepath.Join(container, besidePlace, "listing"))
	if err != nil {
		return err
	}
	if d := DigestOf(listing); d != m.Digest {
		return fmt.Errorf("its listing has digest %s, its manifest says %s: %w", d, m.Digest, bench.ErrInvalid)
	}
	root := filepath.Join(work, "root")
	if err := command(ctx, "cp", "coreutils", "-a", "--one-file-system", container+"/.", root); err != nil {
		return err
	}
	if m.Kernel != "" {
		if err := os.Rename(filepath.Join(root, besidePlace, "kernel"), filepath.Join(work, "kernel")); err != nil {
			return err
		}
	}
	if err := prune(work, listing); err != nil {
		return err
	}
	entries, err := Scan(ctx, work, trees(m.Kernel)...)
	if err != nil {
		return err
	}
	if paths := diffListings(listing, Listing(m.RecipeHash, entries)); len(paths) > 0 {
		return fmt.Errorf("the container's files are not the image %s: %s: %w", m.Digest, describe(paths), bench.ErrInvalid)
	}
	return s.seal(work, m, listing)
}

// prune removes from the root what is not in the listing: what the container's runtime has put there, and
// what is beside the root.
func prune(work string, listing []byte) error {
	listed := lines(listing)
	return filepath.WalkDir(filepath.Join(work, "root"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(work, path)
		if _, ok := listed[rel]; ok || err != nil {
			return err
		}
		if err := tree.Remove(path); err != nil {
			return err
		}
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
}
