package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// checkSetting says whether a setting may be put back: one of the kernel's own
// files, or of a copy of them in the state directory.
func checkSetting(stateDir, name string) error {
	root, _, _, err := bench.ParseSetting(name)
	if err != nil {
		return errForm
	}
	if root != "" && root != stateDir && !strings.HasPrefix(root, stateDir+"/") {
		return fmt.Errorf("outside /sys and %s", stateDir)
	}
	return nil
}

// putBack writes a setting's old value. A file that is gone has nothing to put back.
func putBack(stateDir, name string) error {
	root, path, old, err := bench.ParseSetting(name)
	if err != nil {
		return err
	}
	f, err := openSetting(stateDir, root, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("put back: %w", err)
	}
	_, err = f.WriteString(old)
	return errors.Join(err, f.Close())
}

// openSetting opens the file of a setting to write: the kernel's own, or a copy
// in the state directory, to which no link leads.
func openSetting(stateDir, root, path string) (*os.File, error) {
	if root == "" {
		sys, err := os.Open("/sys")
		if err != nil {
			return nil, err
		}
		defer sys.Close()
		fd, err := unix.Openat2(int(sys.Fd()), strings.TrimPrefix(path, "/sys/"), &unix.OpenHow{
			Flags:   unix.O_WRONLY | unix.O_TRUNC | unix.O_CLOEXEC,
			Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS, // /sys/block is the kernel's links
		})
		if err != nil {
			return nil, &fs.PathError{Op: "openat2", Path: path, Err: err}
		}
		return os.NewFile(uintptr(fd), path), nil
	}
	p, err := placeOf(stateDir, path)
	if err != nil {
		return nil, err
	}
	defer p.close()
	return p.file(unix.O_WRONLY | unix.O_TRUNC | unix.O_NONBLOCK) // a pipe in its place must not block
}
