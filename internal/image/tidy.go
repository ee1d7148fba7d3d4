package image

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/host/tree"
)

// tidy takes what is of the moment or of this host out of the installed tree
// and writes the recipe's own directories and files.
func tidy(root string, r Recipe) error {
	for _, pattern := range r.Drop {
		found, err := fs.Glob(os.DirFS(root), pattern)
		if err != nil {
			return fmt.Errorf("tidy %s: %w", pattern, err)
		}
		for _, name := range found {
			if err := tree.Remove(filepath.Join(root, name)); err != nil {
				return fmt.Errorf("tidy: %w", err)
			}
		}
	}
	for _, dir := range r.Dirs {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return fmt.Errorf("tidy: %w", err)
		}
	}
	for name, text := range r.Files {
		path, err := makeRoom(root, name)
		if err != nil {
			return fmt.Errorf("tidy: %w", err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return fmt.Errorf("tidy: %w", err)
		}
		if err := os.Chmod(path, 0o644); err != nil { // whatever the umask
			return fmt.Errorf("tidy: %w", err)
		}
	}
	for name, to := range r.Links {
		path, err := makeRoom(root, name)
		if err == nil {
			err = os.Symlink(to, path)
		}
		if err != nil {
			return fmt.Errorf("tidy: %w", err)
		}
	}
	return nil
}

// makeRoom makes room for a file: it is not written through, since it may be a link
// to somewhere on the host. Its directory is made.
func makeRoom(root, name string) (path string, err error) {
	path = filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return path, nil
}

// clampTimes makes no file below dir younger than epoch (seconds), as
// SOURCE_DATE_EPOCH asks, directories after what is in them.
func clampTimes(dir string, epoch int64) error {
	var paths []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.ModTime().After(time.Unix(epoch, 0)) {
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("set times: %w", err)
	}
	ts := unix.Timespec{Sec: epoch}
	for _, path := range paths {
		err := unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW)
		if err != nil {
			return &fs.PathError{Op: "utimensat", Path: path, Err: err}
		}
	}
	return nil
}
