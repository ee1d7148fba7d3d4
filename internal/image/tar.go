package image

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// writeTar archives the root directory at path.
func (i *Image) writeTar(ctx context.Context, path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	err = Archive(ctx, w, filepath.Join(i.dir, "root"))
	return errors.Join(err, w.Flush(), f.Close())
}

// Archive writes the tree at dir as a tar archive: names in order, numeric
// owners, no times but the files' own in whole seconds, so that the same tree
// gives the same bytes.
func Archive(ctx context.Context, w io.Writer, dir string) error {
	t := tar.NewWriter(w)
	linked := map[uint64]string{} // first name of each file with several
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		h, err := header(dir, path, linked)
		if err != nil {
			return err
		}
		if err := t.WriteHeader(h); err != nil {
			return fmt.Errorf("archive %s: %w", path, err)
		}
		if h.Typeflag != tar.TypeReg {
			return nil
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		if _, err := io.Copy(t, f); err != nil {
			return fmt.Errorf("archive %s: %w", path, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return t.Close()
}

func header(dir, path string, linked map[uint64]string) (*tar.Header, error) {
	e, err := stat(dir, path)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return nil, &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	h := &tar.Header{
		Name: e.Path, Mode: int64(e.Mode), Uid: int(e.UID), Gid: int(e.GID),
		ModTime: time.Unix(st.Mtim.Sec, 0), Format: tar.FormatPAX,
	}
	switch e.Type {
	case 'd':
		h.Typeflag, h.Name = tar.TypeDir, e.Path+"/"
	case 'l':
		h.Typeflag, h.Linkname = tar.TypeSymlink, e.Content
	case 'c', 'b':
		h.Typeflag = tar.TypeChar
		if e.Type == 'b' {
			h.Typeflag = tar.TypeBlock
		}
		h.Devmajor, h.Devminor = int64(unix.Major(st.Rdev)), int64(unix.Minor(st.Rdev))
	case 'p':
		h.Typeflag = tar.TypeFifo
	case 'f':
		h.Typeflag, h.Size = tar.TypeReg, e.Size
		if first, ok := linked[st.Ino]; ok {
			h.Typeflag, h.Size, h.Linkname = tar.TypeLink, 0, first
		} else if st.Nlink > 1 {
			linked[st.Ino] = e.Path
		}
	default:
		return nil, fmt.Errorf("archive %s: a tar archive has no file of type %c", path, e.Type)
	}
	if e.Attrs != "" {
		attrs, err := readAttrs(path)
		if err != nil {
			return nil, err
		}
		h.PAXRecords = map[string]string{}
		for name, value := range attrs {
			h.PAXRecords["SCHILY.xattr."+name] = value
		}
	}
	return h, nil
}
