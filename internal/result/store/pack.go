package store

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/bench"
)

// What an archive of a run may hold: some hundred times what the built-in experiments write.
const (
	maxPacked      = 4 << 30 // bytes of all files
	maxPackedFiles = 500_000
)

// packed are the files of a folder that an archive has; the report is made anew, and the lock is its writer's.
var packed = []string{specFile, planFile, hostFile, trialsFile, tornFile}

// Pack writes the files of the run in the folder as a tar archive, run.json last.
func Pack(w io.Writer, dir string) error {
	d, err := openFolder(dir)
	if err != nil {
		return fmt.Errorf("pack run: %w", err)
	}
	defer d.close()
	t := tar.NewWriter(w)
	for _, name := range packed {
		if err := d.pack(t, name, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("pack run: %w", err)
		}
	}
	if err := d.packDir(t, samplesDir, samplesDir, 1); err != nil {
		return fmt.Errorf("pack run: %w", err)
	}
	if err := d.packDir(t, outputDir, outputDir, 2); err != nil {
		return fmt.Errorf("pack run: %w", err)
	}
	if err := d.pack(t, headerFile, headerFile); err != nil {
		return fmt.Errorf("pack run: %w", err)
	}
	return t.Close()
}

// pack writes a file of the folder to the archive. One that grows is as long as it was when it was opened.
func (d *folder) pack(t *tar.Writer, name, as string) error {
	f, err := d.open(name, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := t.WriteHeader(&tar.Header{Name: as, Mode: 0o644, Size: info.Size(), Format: tar.FormatPAX}); err != nil {
		return err
	}
	_, err = io.CopyN(t, f, info.Size())
	return err
}

// packDir packs what lies so many levels below a directory of the folder.
func (d *folder) packDir(t *tar.Writer, name, as string, levels int) error {
	in, err := d.in(name)
	if err != nil {
		return err
	}
	defer in.close()
	names, err := in.names()
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, n := range names {
		if levels > 1 {
			err = in.packDir(t, n, as+"/"+n, levels-1)
		} else {
			err = in.pack(t, n, as+"/"+n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Unpack makes the folder of the run in an archive that [Pack] wrote, which may be anybody's: it holds
// files of a run's names alone, each once, and no more than a run needs. The folder must be empty or not
// there. When it fails, what it wrote is removed. An archive that is no run wraps [bench.ErrInvalid].
func Unpack(dir string, from io.Reader) (err error) {
	_, statErr := os.Stat(dir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("unpack run: %w", diskError(err))
	}
	r := &Run{dir: dir}
	defer func() {
		err = errors.Join(err, r.Close())
		if err != nil && statErr != nil {
			_ = os.Remove(dir) // unless something of another's is in it by now
		}
	}()
	if err := r.take(); err != nil {
		return fmt.Errorf("unpack run: %w", err)
	}
	u := unpacking{folder: r.folder, left: maxPacked, dirs: map[string]bool{}}
	if err := u.all(tar.NewReader(from)); err != nil {
		return fmt.Errorf("unpack run: %w", errors.Join(diskError(err), u.undo(), r.folder.remove(lockFile)))
	}
	return nil
}

// unpacking is an archive on its way into a folder.
type unpacking struct {
	folder *folder
	left   int64    // bytes that may still come
	made   []string // files and directories, in order
	dirs   map[string]bool
}

func (u *unpacking) all(t *tar.Reader) error {
	for _, name := range []string{samplesDir, outputDir} {
		if err := u.dir(name); err != nil {
			return err
		}
	}
	var header []byte
	for n := 0; ; n++ {
		h, err := t.Next()
		if err == io.EOF {
			break
		}
		switch {
		case err != nil:
			return fmt.Errorf("not a whole tar archive: %w: %w", err, bench.ErrInvalid)
		case n == maxPackedFiles:
			return fmt.Errorf("more than %d files: %w", maxPackedFiles, bench.ErrInvalid)
		case h.Typeflag != tar.TypeReg:
			return fmt.Errorf("%.200q is no file: %w", h.Name, bench.ErrInvalid)
		}
		if u.left -= h.Size; u.left < 0 {
			return fmt.Errorf("more than %v: %w", bench.Bytes(maxPacked), bench.ErrInvalid)
		}
		if h.Name == headerFile {
			if header, err = readAtMost(t, maxFile); err != nil {
				return fmt.Errorf("%s: %w: %w", headerFile, err, bench.ErrInvalid)
			}
			continue
		}
		if err := u.file(h.Name, t); err != nil {
			return err
		}
	}
	if header == nil {
		return fmt.Errorf("no %s in it: %w", headerFile, bench.ErrInvalid)
	}
	if err := u.file(headerFile, bytes.NewReader(header)); err != nil {
		return err
	}
	d, err := u.folder.root.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	return errors.Join(unix.Syncfs(int(d.Fd())), syncDir(filepath.Dir(filepath.Clean(u.folder.path))))
}

// dir makes a directory, and remembers it, unless it has made it before.
func (u *unpacking) dir(name string) error {
	if u.dirs[name] {
		return nil
	}
	if err := u.folder.root.Mkdir(name, 0o755); err != nil {
		return u.folder.named(name, err)
	}
	u.made, u.dirs[name] = append(u.made, name), true
	return nil
}

// file makes the file of that name in a run's folder.
func (u *unpacking) file(name string, content io.Reader) error {
	parts := strings.Split(name, "/")
	for _, p := range parts {
		if err := checkName(p); err != nil {
			return fmt.Errorf("%.200q: %w: %w", name, err, bench.ErrInvalid)
		}
	}
	switch {
	case len(parts) == 1 && (name == headerFile || slices.Contains(packed, name)), len(parts) == 2 && parts[0] == samplesDir:
	case len(parts) == 3 && parts[0] == outputDir:
		if err := u.dir(parts[0] + "/" + parts[1]); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%.200q is no file of a run: %w", name, bench.ErrInvalid)
	}
	f, err := u.folder.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%.200q is there twice: %w", name, bench.ErrInvalid)
	}
	if err != nil {
		return u.folder.named(name, err)
	}
	u.made = append(u.made, name)
	_, err = io.Copy(f, content)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("%s: the archive is cut off: %w", name, bench.ErrInvalid)
	}
	return errors.Join(err, f.Close())
}

// undo removes what was made.
func (u *unpacking) undo() error {
	var errs []error
	for _, name := range slices.Backward(u.made) {
		errs = append(errs, u.folder.root.Remove(name))
	}
	return errors.Join(errs...)
}
