package image

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// Stat describes a file of the image's root as an instance finds it: links lead nowhere else. The
// image itself is not checked. If it is not built, the error wraps [bench.ErrUnavailable].
func (s *Store) Stat(path string) (mode fs.FileMode, err error) {
	root, err := s.openRoot()
	if err != nil {
		return 0, err
	}
	defer root.Close()
	fd, err := unix.Openat2(int(root.Fd()), path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT})
	if err != nil {
		return 0, &fs.PathError{Op: "find in the image", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Mode(), nil
}

// Names are those of the files in a directory of the image's root; nil if it cannot be read.
func (s *Store) Names(dir string) []string {
	entries, err := os.ReadDir(filepath.Join(s.path(), "root", dir))
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func (s *Store) openRoot() (*os.File, error) {
	root, err := os.Open(filepath.Join(s.path(), "root"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, s.notBuilt()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", s.Recipe.what(), err, bench.ErrUnavailable)
	}
	return root, nil
}
