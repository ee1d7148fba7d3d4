package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// writeFile writes a new file and waits until it is on disk; a partial one is
// removed.
func writeFile(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(path)
	}
	return err
}

// syncDir makes the directory's entries durable.
func syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// diskError adds advice to an error that says the disk is full.
func diskError(err error) error {
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return fmt.Errorf("%w%w", err,
			bench.Hint("the disk is full: free some space, then go on with tare resume; every finished trial is kept"))
	}
	return err
}

// checkName refuses a name that would not be a plain file inside its folder.
func checkName(name string) error {
	if name == "" || name[0] == '.' || strings.ContainsAny(name, "/\x00") || name != filepath.Base(name) {
		return fmt.Errorf("%q cannot be the name of a file", name)
	}
	return nil
}
