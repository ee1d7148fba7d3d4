package xenpipe

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"strings"
)

// storeDevice is the kernel's way to the store, in every domain.
const storeDevice = "/dev/xen/xenbus"

// What messages ask for and are (xen/include/public/io/xs_wire.h).
const (
	xsRead       = 2
	xsWatch      = 4
	xsWrite      = 11
	xsWatchEvent = 15
	xsError      = 16
)

// storeHeader precedes every message's text.
type storeHeader struct{ Type, Request, Transaction, Length uint32 }

// maxText is the longest text a message may have.
const maxText = 4096

// store is a connection to it. One request is answered before the next is made.
type store struct {
	conn io.ReadWriteCloser
	seen bool // a watched entry may have changed
}

func openStore() (*store, error) {
	f, err := os.OpenFile(storeDevice, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("xenstore: %w", err)
	}
	return &store{conn: f}, nil
}

func (s *store) Close() error { return s.conn.Close() }

// storeError is the store's own, such as ENOENT.
type storeError string

func (e storeError) Error() string { return string(e) }

const notThere = storeError("ENOENT")

// ask sends a request of texts that each end in a zero byte, but the last if it
// is a value, and returns the answer's text.
func (s *store) ask(kind uint32, text string) (string, error) {
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, storeHeader{Type: kind, Length: uint32(len(text))}); err != nil {
		return "", err
	}
	b.WriteString(text)
	if _, err := s.conn.Write(b.Bytes()); err != nil {
		return "", fmt.Errorf("xenstore: %w", err)
	}
	for {
		got, answer, err := s.receive()
		if err != nil {
			return "", err
		}
		switch got {
		case xsWatchEvent:
			s.seen = true
		case xsError:
			return "", storeError(strings.TrimRight(answer, "\x00"))
		case kind:
			return answer, nil
		default:
			return "", fmt.Errorf("xenstore: message %d in answer to %d", got, kind)
		}
	}
}

func (s *store) receive() (kind uint32, text string, err error) {
	var h storeHeader
	if err := binary.Read(s.conn, binary.LittleEndian, &h); err != nil {
		return 0, "", fmt.Errorf("xenstore: %w", err)
	}
	if h.Length > maxText {
		return 0, "", fmt.Errorf("xenstore: message of %d bytes", h.Length)
	}
	b := make([]byte, h.Length)
	if _, err := io.ReadFull(s.conn, b); err != nil {
		return 0, "", fmt.Errorf("xenstore: %w", err)
	}
	return h.Type, string(b), nil
}

// write sets an entry.
func (s *store) write(path, value string) error {
	if _, err := s.ask(xsWrite, path+"\x00"+value); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// await returns the entry's value once it has one.
func (s *store) await(path string) (string, error) {
	if _, err := s.ask(xsWatch, path+"\x00tare\x00"); err != nil {
		return "", fmt.Errorf("watch %s: %w", path, err)
	}
	for {
		s.seen = false
		value, err := s.ask(xsRead, path+"\x00")
		if err == nil && value != "" {
			return value, nil
		}
		if err != nil && err != notThere {
			return "", fmt.Errorf("read %s: %w", path, err)
		}
		for !s.seen {
			kind, _, err := s.receive()
			if err != nil {
				return "", err
			}
			s.seen = kind == xsWatchEvent
		}
	}
}
