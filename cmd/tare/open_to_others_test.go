package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// openToOthers lists what users other than root can reach and use of a tree: sockets to connect to,
// files to write to or to run as root, directories to look into. The tree's top may be passed through.
func openToOthers(top string) (open []string) {
	_ = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		mode := info.Mode()
		switch perm := mode.Perm(); {
		case path == top && perm&0o002 == 0:
			return nil
		case d.IsDir() && perm&0o001 == 0 && perm&0o004 == 0:
			return fs.SkipDir // nobody gets past it
		case d.IsDir(), mode&fs.ModeSocket != 0 && perm&0o002 != 0, mode.IsRegular() && perm&0o002 != 0, mode.IsRegular() && mode&fs.ModeSetuid != 0 && perm&0o001 != 0:
			open = append(open, fmt.Sprintf("%s %v", path, mode))
		}
		return nil
	})
	return open
}

// TestOpenToOthers tells what others can use of a run's files from what they cannot reach.
func TestOpenToOthers(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(dir string) error
		open string
	}{
		{"a lock to read", func(dir string) error { return os.WriteFile(filepath.Join(dir, "lock"), nil, 0o644) }, ""},
		{"a closed directory", func(dir string) error { return os.Mkdir(filepath.Join(dir, "run"), 0o700) }, ""},
		{"a directory", func(dir string) error { return os.Mkdir(filepath.Join(dir, "run"), 0o755) }, "/run drwxr-xr-x"},
		{"a directory to pass", func(dir string) error { return os.Mkdir(filepath.Join(dir, "run"), 0o711) }, "/run drwx--x--x"},
		{"a socket behind a closed directory", func(dir string) error {
			return errors.Join(os.Mkdir(filepath.Join(dir, "run"), 0o700), socket(filepath.Join(dir, "run", "s"), 0o666))
		}, ""},
		{"a socket", func(dir string) error { return socket(filepath.Join(dir, "s"), 0o666) }, "/s Srw-rw-rw-"},
		{"a socket of root's", func(dir string) error { return socket(filepath.Join(dir, "s"), 0o600) }, ""},
		{"a setuid program", func(dir string) error {
			path := filepath.Join(dir, "x")
			return errors.Join(os.WriteFile(path, nil, 0o755), os.Chmod(path, 0o755|os.ModeSetuid))
		}, "/x urwxr-xr-x"},
		{"a file to write", func(dir string) error {
			path := filepath.Join(dir, "x")
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o602))
		}, "/x -rw-----w-"},
		{"the top", func(dir string) error { return os.Chmod(dir, 0o777) }, " drwxrwxrwx"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "open-") // a socket's path must be short
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			if err := c.make(dir); err != nil {
				t.Fatal(err)
			}
			var want []string
			if c.open != "" {
				want = []string{dir + c.open}
			}
			if got := openToOthers(dir); !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// socket leaves one behind, with the mode.
func socket(path string, mode os.FileMode) error {
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return err
	}
	ln.SetUnlinkOnClose(false)
	return errors.Join(os.Chmod(path, mode), ln.Close())
}
