package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// checkOurs refuses a directory in which others may put things in place of ours.
func checkOurs(dir string) error {
	d, err := openOurs(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return d.Close()
}

// openOurs opens the state directory or [bench.RuntimeDir] as a mere path, if it
// is root's, or the user's own, and no other may write into it.
func openOurs(dir string) (*os.File, error) {
	d, err := os.OpenFile(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(d.Fd()), &st); err != nil {
		d.Close()
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	why := ""
	switch {
	case st.Uid != 0 && int(st.Uid) != os.Geteuid():
		why = "belongs to user " + strconv.Itoa(int(st.Uid))
	case st.Mode&0o002 != 0 || st.Mode&0o020 != 0 && st.Gid != 0:
		why = fmt.Sprintf("may be written by others (mode %#o)", st.Mode&0o7777)
	}
	if why != "" {
		d.Close()
		return nil, fmt.Errorf("%s %s, who could have root remove what is not tare's: %w%w", dir, why, bench.ErrInvalid,
			bench.Hint("look at what is in it; then chown root:root "+dir+" and chmod 0700 "+dir+", or name another by --state"))
	}
	return d, nil
}

// A place is where a thing of ours lies: a name in a directory that was opened
// without following a link below the state directory or [bench.RuntimeDir], so
// that no link planted there leads elsewhere.
type place struct {
	dir  *os.File // as a mere path
	name string
}

// placeOf opens the directory that the path lies in. If there is none the error is [fs.ErrNotExist].
func placeOf(stateDir, path string) (*place, error) {
	base, rel, ok := beneath(stateDir, path)
	if !ok {
		return nil, fmt.Errorf("outside %s and %s", stateDir, bench.RuntimeDir)
	}
	ours, err := openOurs(base)
	if err != nil {
		return nil, err
	}
	defer ours.Close()
	fd, err := unix.Openat2(int(ours.Fd()), filepath.Dir(rel), &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH,
	})
	if errors.Is(err, unix.ELOOP) {
		return nil, fmt.Errorf("there is a symbolic link on the way to %s: %w", path, err)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "openat2", Path: filepath.Dir(path), Err: err}
	}
	return &place{os.NewFile(uintptr(fd), filepath.Dir(path)), filepath.Base(path)}, nil
}

func (p *place) close() { p.dir.Close() }

// path leads to the thing by the open directory, for system calls that take paths only.
func (p *place) path() string { return fmt.Sprintf("/proc/self/fd/%d/%s", p.dir.Fd(), p.name) }

// file opens the thing itself, which must be a regular file, with the flags.
func (p *place) file(flags int) (*os.File, error) {
	fd, err := unix.Openat2(int(p.dir.Fd()), p.name, &unix.OpenHow{
		Flags:   uint64(flags | unix.O_CLOEXEC),
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH,
	})
	if err != nil {
		return nil, &fs.PathError{Op: "openat2", Path: filepath.Join(p.dir.Name(), p.name), Err: err}
	}
	f := os.NewFile(uintptr(fd), filepath.Join(p.dir.Name(), p.name))
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", f.Name())
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// unlink deletes the name, which is not a directory; one that is gone is not an error.
func (p *place) unlink() error {
	err := unix.Unlinkat(int(p.dir.Fd()), p.name, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}
