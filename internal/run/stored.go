package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// takenBy is what an instance takes of the host's disk, in bytes.
func takenBy(a *actor) (int64, error) {
	paths := []string{a.dir}
	if s, ok := a.instance.(bench.Storing); ok {
		more, err := s.Stored()
		if err != nil {
			return 0, err
		}
		paths = append(paths, more...)
	}
	n, err := onDisk(a.dir, paths)
	if err != nil {
		return 0, err
	}
	scope, err := a.instance.Scope()
	if err != nil {
		return 0, err
	}
	for _, p := range scope.Helpers {
		n += hidden("/proc", p.PID, a.dir)
	}
	return n, nil
}

// onDisk is the space in bytes that the files below the paths take, as far as
// they lie on the file system of dir and not in its scratch space. What goes
// meanwhile counts for nothing.
func onDisk(dir string, paths []string) (int64, error) {
	var at unix.Stat_t
	if err := unix.Stat(dir, &at); err != nil {
		return 0, &fs.PathError{Op: "stat", Path: dir, Err: err}
	}
	var n int64
	for _, top := range paths {
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			if filepath.Dir(path) == dir && strings.HasPrefix(d.Name(), "scratch") {
				if d.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
			var st unix.Stat_t
			switch err := unix.Lstat(path, &st); {
			case errors.Is(err, unix.ENOENT):
				return nil
			case err != nil:
				return &fs.PathError{Op: "lstat", Path: path, Err: err}
			case st.Dev != at.Dev && d.IsDir():
				return fs.SkipDir // something mounted
			case st.Dev == at.Dev:
				n += st.Blocks * 512
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	return n, nil
}

// hidden is the space in bytes of files on dir's file system that the process has open and
// nobody else can: QEMU removes the file with a guest's writes once it has it.
func hidden(proc string, pid int, dir string) int64 {
	var at unix.Stat_t
	if unix.Stat(dir, &at) != nil {
		return 0
	}
	links, _ := filepath.Glob(fmt.Sprintf("%s/%d/fd/*", proc, pid)) // the pattern is well-formed
	seen := map[uint64]bool{}
	var n int64
	for _, link := range links {
		target, err := os.Readlink(link)
		var st unix.Stat_t
		if err != nil || !strings.HasSuffix(target, " (deleted)") || unix.Stat(link, &st) != nil {
			continue
		}
		if st.Mode&unix.S_IFMT == unix.S_IFREG && st.Dev == at.Dev && !seen[st.Ino] {
			seen[st.Ino] = true
			n += st.Blocks * 512
		}
	}
	return n
}
