package image

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// pinned is what the recipe takes from outside of Debian, by its content: nothing else is taken, whoever
// has it under that name.
type pinned interface {
	name() string
	// need is an error for what would have taking it fail.
	need() error
	// take downloads it, and puts it into the tree of the image that is built in a directory.
	take(ctx context.Context, s *Store, work string) error
}

// pinned are all of the recipe's.
func (r Recipe) pinned() (all []pinned) {
	for _, d := range r.Sdists {
		all = append(all, d)
	}
	for _, f := range r.Fetched {
		all = append(all, f)
	}
	return all
}

// takePinned takes all of the recipe's.
func (s *Store) takePinned(ctx context.Context, work string) error {
	for _, p := range s.Recipe.pinned() {
		s.say("downloading %s", p.name())
		if err := p.take(ctx, s, work); err != nil {
			return fmt.Errorf("%s: %w", p.name(), err)
		}
	}
	return nil
}

// filesOf goes through the files of a gzipped tar archive. Links and directories of their own are left out.
func filesOf(archive io.Reader, each func(h *tar.Header, in io.Reader) error) error {
	plain, err := gzip.NewReader(archive)
	if err != nil {
		return err
	}
	for in := tar.NewReader(plain); ; {
		h, err := in.Next()
		switch {
		case errors.Is(err, io.EOF):
			_, err := io.Copy(io.Discard, plain) // its checksum is at the end
			return err
		case err != nil:
			return err
		case h.Typeflag != tar.TypeReg:
			continue
		}
		if err := each(h, in); err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
	}
}

// put writes a file of the tree, readable by all, and executable where the archive has it so.
func put(in io.Reader, root, name string, mode int64) error {
	to, err := makeRoom(root, name)
	if err != nil {
		return err
	}
	perm := os.FileMode(0o644)
	if mode&0o100 != 0 {
		perm = 0o755
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Chmod(perm), out.Close()) // whatever the umask
}
