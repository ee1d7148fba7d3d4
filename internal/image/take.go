package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"tare/internal/bench"
	"tare/internal/image/own"
)

// Own is the recipe of an image of the user's own: its files as they are, directories that instances
// need where it has none, and the golden image's kernel for machines.
func Own(id string) Recipe {
	return Recipe{Format: 1, Arch: runtime.GOARCH, Own: id,
		Dirs: []string{"dev", "etc", "proc", "run", "scratch", "sys", "tmp"}}
}

// OpenOwn opens an image of the user's own; see [own.Open].
func (s *Store) OpenOwn(ctx context.Context, from string) (*own.Source, error) {
	if _, err := os.Stat(s.images()); err != nil { // nothing was built here yet
		return own.Open(ctx, from, s.Dir, Archive)
	}
	return own.Open(ctx, from, s.images(), Archive)
}

// spared is what an image of the user's own leaves free on the disk.
const spared = bench.GiB

// take fills a directory with an image of the user's own.
func (s *Store) take(ctx context.Context, work string, m *Manifest) error {
	start := time.Now()
	if s.Source == nil {
		return s.notBuilt()
	}
	if s.Source.ID() != s.Recipe.Own {
		return fmt.Errorf("%s is %s by now, and not %s: %w", s.From, s.Source.ID(), s.Recipe.Own, bench.ErrInvalid)
	}
	config := s.Source.Config()
	m.From, m.Config, m.Programs = s.From, &config, map[string]string{}
	golden, err := New(s.Dir).Open(ctx)
	if err != nil {
		return fmt.Errorf("its kernel is the golden image's: %w", err)
	}
	defer golden.Close()
	if m.Kernel = golden.manifest.Kernel; m.Kernel != "" {
		if err := command(ctx, "cp", "coreutils", "-a", "--reflink=auto", filepath.Join(golden.dir, "kernel"), work); err != nil {
			return err
		}
	}
	free, err := freeSpace(s.images())
	if err != nil {
		return err
	}
	root := filepath.Join(work, "root")
	if err := os.Mkdir(root, 0o755); err != nil {
		return err
	}
	s.say("unpacking %s", s.From)
	if err := s.Source.Unpack(ctx, root, free-spared); err != nil {
		return fmt.Errorf("unpack %s: %w", s.From, err)
	}
	if err := makeDirs(root, s.Recipe.Dirs); err != nil {
		return fmt.Errorf("%s: %w", s.From, err)
	}
	if err := checkPlaces(root); err != nil {
		return fmt.Errorf("%s: %w", s.From, err)
	}
	status, err := os.Open(filepath.Join(root, "var/lib/dpkg/status"))
	if err == nil {
		m.Packages, err = parsePackages(status) // of any Debian; for the record alone
		status.Close()
	}
	if err != nil {
		m.Packages = nil
	}
	if err := s.complete(ctx, work, m); err != nil {
		return err
	}
	s.say("taken in %.0f s: %s in %d files, %s", time.Since(start).Seconds(), bench.Bytes(m.Bytes).String(), m.Files, m.Digest)
	return nil
}

// makeDirs makes the directories that are not there. What is no directory is an error: a link might
// lead a platform's mount to somewhere else.
func makeDirs(root string, dirs []string) error {
	r, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer r.Close()
	for _, dir := range dirs {
		info, err := r.Lstat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if err = r.Mkdir(dir, 0o755); err == nil && dir == "tmp" {
				err = r.Chmod(dir, 0o777|fs.ModeSticky)
			}
		case err == nil && !info.IsDir():
			err = fmt.Errorf("its /%s is no directory: %w", dir, bench.ErrInvalid)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkPlaces refuses what platforms put in a place of the image, and links where they write below:
// one might lead them to a file of this host.
func checkPlaces(root string) error {
	r, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer r.Close()
	entries, err := fs.ReadDir(r.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".tare") {
			return fmt.Errorf("its /%s is in the way of ours: %w", e.Name(), bench.ErrInvalid)
		}
	}
	for _, dir := range []string{"etc/systemd", "etc/systemd/system", "etc/systemd/system/multi-user.target.wants"} {
		if info, err := r.Lstat(dir); err == nil && !info.IsDir() {
			return fmt.Errorf("its /%s is no directory: %w", dir, bench.ErrInvalid)
		}
	}
	return nil
}
