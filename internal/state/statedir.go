// Package state makes the state directory, and makes sure that nobody but its
// owner gets into it. Below it lie the image and what instances write, both with
// programs that are setuid root, and sockets that the first caller may have.
package state

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"tare/internal/bench"
)

// Mode is that of a state directory.
const Mode fs.FileMode = 0o700

// ours are files that a directory has which was a state directory before.
var ours = []string{"ledger.lock", "images/.lock"}

var another = bench.Hint("name a directory of Tare's own: --state DIR or TARE_STATE")

// Make makes the directory and those above it. One that is there must belong to
// this process's user, and be writable to no other. One that others could look into is
// closed, and found is the mode it had; otherwise found is 0. Only a directory that is
// empty or was a state directory before is closed: anything else is somebody's, and an error.
func Make(dir string) (found fs.FileMode, err error) {
	if found, err = makeDir(dir); err != nil {
		return 0, fmt.Errorf("state directory %s: %w", dir, err)
	}
	return found, nil
}

func makeDir(dir string) (found fs.FileMode, err error) {
	err = os.MkdirAll(filepath.Dir(dir), 0o755)
	if err == nil {
		err = os.Mkdir(dir, Mode)
	}
	var f *os.File
	if err == nil || errors.Is(err, fs.ErrExist) {
		f, err = os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	}
	if errors.Is(err, fs.ErrPermission) {
		return 0, fmt.Errorf("%w%w", err, bench.Hint("run tare as root, or name another: --state DIR or TARE_STATE"))
	}
	if err != nil {
		return 0, fmt.Errorf("%w%w", err, another)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	mode := info.Mode().Perm()
	if owner := info.Sys().(*syscall.Stat_t).Uid; int(owner) != os.Geteuid() {
		return 0, fmt.Errorf("it belongs to user %d, and this is user %d: %w%w", owner, os.Geteuid(), bench.ErrInvalid, another)
	}
	if mode&0o022 != 0 {
		return 0, fmt.Errorf("others may write into it (%v): %w%w", info.Mode(), bench.ErrInvalid,
			bench.Hint("name another with --state DIR; what is in this one may be anybody's"))
	}
	if mode&0o077 == 0 {
		return 0, nil
	}
	if mine, err := isOurs(f); err != nil {
		return 0, err
	} else if !mine {
		return 0, fmt.Errorf("others may look into it (%v), and what is in it is not Tare's: %w%w", info.Mode(), bench.ErrInvalid,
			bench.Hint("name another with --state DIR, or close this one: chmod 700 "+dir))
	}
	return info.Mode(), f.Chmod(Mode)
}

// isOurs reports whether the directory is empty or was a state directory before.
func isOurs(dir *os.File) (bool, error) {
	if _, err := dir.Readdirnames(1); errors.Is(err, io.EOF) {
		return true, nil
	} else if err != nil {
		return false, err
	}
	for _, name := range ours {
		if _, err := os.Lstat(filepath.Join(dir.Name(), name)); err == nil {
			return true, nil
		}
	}
	return false, nil
}
