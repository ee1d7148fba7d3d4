package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// The runs that began on this host: a file for each, named by its id, with its
// digest, and a further one for each time it was given more blocks or time. Folders of results travel, and may come from anyone; what lies in the
// state directory was written here.
const (
	begunDir  = "begun"
	begunLock = "begun.lock"
)

// Begin remembers that a run began on this host, by the digest of all that was
// settled then. The id is one that [tare/internal/result/store] takes.
func Begin(state, run, digest string) error {
	fail := func(err error) error { return fmt.Errorf("remember that run %s began: %w", run, err) }
	lock, err := os.OpenFile(filepath.Join(state, begunLock), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fail(err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_SH); err != nil { // it is not removed meanwhile
		return fail(err)
	}
	dir := filepath.Join(state, begunDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fail(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, run), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fail(err)
	}
	_, err = f.WriteString(digest + "\n")
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close(), syncDir(dir), syncDir(state)); err != nil {
		return fail(errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

func syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Extend remembers a further digest of a run that began here: that of its folder with
// more blocks or time.
func Extend(state, run, digest string) error {
	dir := filepath.Join(state, begunDir)
	f, err := os.OpenFile(filepath.Join(dir, run), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(digest + "\n")
		err = errors.Join(err, f.Sync(), f.Close())
	}
	if err != nil {
		return fmt.Errorf("remember that run %s is extended: %w", run, err)
	}
	return nil
}

// CheckBegun is an error unless the run began on this host and nothing of what
// was settled then is otherwise now.
func CheckBegun(state, run, digest string) error {
	text, err := os.ReadFile(filepath.Join(state, begunDir, run))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not know of run %s: it began elsewhere, or tare clean --all came between: %w", state, run, bench.ErrInvalid)
	case err != nil:
		return fmt.Errorf("look whether run %s began here: %w", run, err)
	case !slices.Contains(strings.Fields(string(text)), digest):
		return fmt.Errorf("the folder of run %s is not as it was when the run began: run.json, spec.yaml, plan.json or host.json was changed: %w", run, bench.ErrInvalid)
	}
	return nil
}
