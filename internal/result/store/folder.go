package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// A folder is a directory of results, held open. It may belong to someone who
// is not trusted, and change while root works in it. So whatever is opened is
// named by one word below a directory that is open already, is never reached by a
// link, and is looked at once it is open: it is a file or it is refused. What
// is written in place has no second name elsewhere; everything else is made
// anew, and nothing is removed but by its own name.
type folder struct {
	path string // as it was given, for messages
	root *os.Root
}

func openFolder(path string) (*folder, error) {
	dir, err := os.OpenFile(path, unix.O_DIRECTORY, 0) // which does not wait for the writer of a pipe
	if err != nil {
		return nil, err
	}
	return newFolder(path, dir)
}

// newFolder takes a directory over that is open.
func newFolder(path string, dir *os.File) (*folder, error) {
	defer dir.Close()
	root, err := os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", dir.Fd()))
	if err != nil {
		return nil, err
	}
	return &folder{path, root}, nil
}

func (d *folder) close() error { return d.root.Close() }

// in opens a directory of the folder.
func (d *folder) in(name string) (*folder, error) {
	dir, err := d.opened(name, unix.O_DIRECTORY, fs.ModeDir)
	if err != nil {
		return nil, err
	}
	return newFolder(filepath.Join(d.path, name), dir)
}

// make makes a directory unless it is there, and opens it.
func (d *folder) make(name string) (*folder, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	if err := d.root.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, d.named(name, err)
	}
	return d.in(name)
}

// open opens a file that is there; one to be written has no other name.
func (d *folder) open(name string, flag int) (*os.File, error) {
	f, err := d.opened(name, flag, 0)
	if err != nil || flag&(os.O_WRONLY|os.O_RDWR) == 0 {
		return f, err
	}
	found, err := f.Stat()
	if err == nil && found.Sys().(*syscall.Stat_t).Nlink > 1 {
		err = fmt.Errorf("%s has a second name somewhere, a hard link, which would change with it: %w%w", filepath.Join(d.path, name), bench.ErrInvalid,
			bench.Hint("copy the folder, such as by cp -r, and name the copy"))
	}
	if err != nil {
		f.Close()
		return nil, d.named(name, err)
	}
	return f, nil
}

// opened opens what has the name and is of the type. A pipe in its place is not waited for.
func (d *folder) opened(name string, flag int, want fs.FileMode) (*os.File, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	f, err := d.root.OpenFile(name, flag|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, d.named(name, err)
	}
	if err = d.check(name, f, want, err); err != nil {
		if f != nil {
			f.Close()
		}
		return nil, err
	}
	return f, nil
}

// check looks at what was opened by a name, or could not be for the reason err:
// it is of the type, and the name is its own and no link's.
func (d *folder) check(name string, f *os.File, want fs.FileMode, err error) error {
	itself, lerr := d.root.Lstat(name)
	if lerr == nil && itself.Mode().Type() != want {
		return fmt.Errorf("%s is %s, and tare wrote %s there: %w%w", filepath.Join(d.path, name), kind(itself.Mode()), kind(want), bench.ErrInvalid,
			bench.Hint("put "+kind(want)+" itself in its place: nothing else in a folder of results is opened"))
	}
	var found os.FileInfo
	if err == nil {
		found, err = f.Stat()
	}
	if err = errors.Join(err, lerr); err != nil {
		return d.named(name, err)
	}
	if !os.SameFile(found, itself) {
		return fmt.Errorf("%s changed while it was opened: %w%w", filepath.Join(d.path, name), bench.ErrInvalid, bench.Hint("see who else writes in "+d.path))
	}
	return nil
}

// kind is what a file of the mode is, for people.
func kind(m fs.FileMode) string {
	switch m.Type() {
	case 0:
		return "a file"
	case fs.ModeDir:
		return "a directory"
	case fs.ModeSymlink:
		return "a symbolic link"
	case fs.ModeNamedPipe:
		return "a named pipe"
	}
	return "a special file"
}

// named gives an error the whole path of what it is about.
func (d *folder) named(name string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return &fs.PathError{Op: p.Op, Path: filepath.Join(d.path, name), Err: p.Err}
	}
	return err
}

// read returns what a file holds, which is at most so many bytes.
func (d *folder) read(name string, most int64) ([]byte, error) {
	f, err := d.open(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := readAtMost(f, most)
	return text, d.named(name, err)
}

// create makes a file that is not there.
func (d *folder) create(name string) (*os.File, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	f, err := d.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, d.named(name, err)
	}
	return f, nil
}

// write writes a file anew and waits until it is on disk; a partial one is
// removed. What had the name before is not written to.
func (d *folder) write(name string, data []byte) error {
	return d.fill(name, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

func (d *folder) fill(name string, write func(io.Writer) error) error {
	if err := d.remove(name); err != nil {
		return err
	}
	f, err := d.create(name)
	if err != nil {
		return err
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(d.named(name, err), d.remove(name))
	}
	return nil
}

// replace writes a file under a second name and then gives it its own. Who
// has the old one open keeps it; a link of the name is replaced itself.
func (d *folder) replace(name string, write func(io.Writer) error) error {
	part := name + ".part"
	if err := d.fill(part, write); err != nil {
		return err
	}
	if err := d.root.Rename(part, name); err != nil {
		return errors.Join(err, d.remove(part))
	}
	return d.sync()
}

// rename gives what has a name another one, durably, unless there is nothing of that name.
func (d *folder) rename(from, to string) error {
	if err := errors.Join(checkName(from), checkName(to)); err != nil {
		return err
	}
	if err := d.root.Rename(from, to); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return d.named(from, err)
	}
	return d.sync()
}

// names lists what is in the folder.
func (d *folder) names() ([]string, error) {
	f, err := d.root.Open(".")
	if err != nil {
		return nil, d.named(".", err)
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// remove removes a file, or a link itself, if there is one of the name.
func (d *folder) remove(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	if err := d.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return d.named(name, err)
	}
	return nil
}

// removeDir removes a directory that holds files alone, as those do that tare
// writes; any other stays and is an error.
func (d *folder) removeDir(name string) error {
	in, err := d.in(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.close()
	names, err := in.names()
	if err != nil {
		return err
	}
	for _, n := range names {
		if err := in.remove(n); err != nil {
			return fmt.Errorf("%w%w", err, bench.Hint("it is nothing that tare wrote there: move it elsewhere"))
		}
	}
	return d.remove(name)
}

// sync makes the folder's entries durable.
func (d *folder) sync() error {
	f, err := d.root.Open(".")
	if err != nil {
		return d.named(".", err)
	}
	return errors.Join(f.Sync(), f.Close())
}
