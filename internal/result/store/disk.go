package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

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
	if name == "" || name[0] == '.' || strings.ContainsRune(name, '/') || strings.IndexFunc(name, unicode.IsControl) >= 0 || name != filepath.Base(name) {
		return fmt.Errorf("%q cannot be the name of a file", name)
	}
	return nil
}
