package agent

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// put begins to receive a file. An error ends the stream; a file that cannot be
// written is an error frame.
func (s *server) put(id uint32, r putRequest) error {
	if !filepath.IsAbs(r.Path) || r.Mode&^0o777 != 0 {
		s.sendError(id, fmt.Errorf("not an absolute path and file mode: %q, %o", r.Path, r.Mode))
		return nil
	}
	in := newInbox()
	if err := s.begin(id, nil, in); err != nil {
		return err
	}
	go s.answer(id, func() error {
		defer s.end(id)
		return s.place(id, r, in)
	})
	return nil
}

// place writes the file under a name of its own and renames it when it is whole.
func (s *server) place(id uint32, r putRequest, in *inbox) (err error) {
	if err := os.MkdirAll(filepath.Dir(r.Path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(r.Path), ".put-*")
	if err != nil {
		return err
	}
	if err := s.receive(id, in, -1, f, s.gone); err != nil {
		return errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	err = errors.Join(f.Chmod(os.FileMode(r.Mode)), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), r.Path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// receive writes an operation's data to w until it ends or, if size is not
// negative, size bytes have come. It gives up when dead is closed.
func (s *server) receive(id uint32, b *inbox, size int, w io.Writer, dead <-chan struct{}) error {
	var g grants
	for got := 0; got != size; {
		data, err := b.pop(dead)
		if err == io.EOF && size < 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("after %d bytes: %w", got, err)
		}
		if got += len(data); size >= 0 && got > size {
			return fmt.Errorf("%d bytes: announced were %d", got, size)
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
		b.done(len(data))
		if n := g.add(len(data)); n > 0 {
			s.send(appendWindow(nil, id, streamIn, n))
		}
	}
	return nil
}
