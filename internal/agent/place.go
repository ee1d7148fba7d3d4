package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// put begins to receive a file. An error ends the stream; a file that cannot be
// written is an error frame.
func (s *server) put(id uint32, r putRequest) error {
	in := newInbox()
	if err := s.begin(id, nil, in); err != nil {
		return err
	}
	go s.answer(id, func() error {
		defer s.end(id)
		if err := s.place(id, r, in); err != nil {
			return fmt.Errorf("put %s: %w", r.Path, err)
		}
		return nil
	})
	return nil
}

// place writes the file under a name of its own and renames it when it is whole.
func (s *server) place(id uint32, r putRequest, in *inbox) (err error) {
	if !filepath.IsAbs(r.Path) || r.Mode&^0o777 != 0 {
		return fmt.Errorf("not an absolute path and file mode: %q, %o", r.Path, r.Mode)
	}
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
