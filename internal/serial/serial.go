// Package serial carries a byte stream over a serial line that has no flow
// control: what the host sends before the guest has room for it is lost, or stops
// the line for good, as User-mode Linux's does once its terminal layer has been full
// (arch/um/drivers/line.c: what throttles the line takes its interrupt away).
//
// Towards the guest bytes go as they are, but no more than [Window] of them
// beyond those the guest has said it has read. It says so within its own stream:
//
//	F7 00        stands for a byte F7
//	F7 01 HI LO  HI*256+LO more bytes were read
package serial

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

// Window is how many bytes may be on their way to the guest: less than what a
// terminal holds, 4096.
const Window = 2048

// grant is how many bytes the guest reads before it says so.
const grant = Window / 4

// The escape and what follows it.
const (
	escape  = 0xF7
	literal = 0x00
	credit  = 0x01
)

// Guest is the guest's end of the line. Read and Write may be called at the same time, each by one goroutine.
type Guest struct {
	line io.ReadWriter
	mu   sync.Mutex // of writing
	read int        // since the last grant
}

// NewGuest returns the guest's end.
func NewGuest(line io.ReadWriter) *Guest { return &Guest{line: line} }

// Read reads what the host sent.
func (g *Guest) Read(p []byte) (int, error) {
	n, err := g.line.Read(p[:min(len(p), Window)])
	g.read += n
	if g.read < grant {
		return n, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	_, wErr := g.line.Write([]byte{escape, credit, byte(g.read >> 8), byte(g.read)})
	g.read = 0
	return n, errors.Join(err, wErr)
}

// Write sends p to the host.
func (g *Guest) Write(p []byte) (int, error) {
	out := make([]byte, 0, len(p)+len(p)/64)
	for _, b := range p {
		out = append(out, b)
		if b == escape {
			out = append(out, literal)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, err := g.line.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Host is the host's end of the line. A Write goes on only while someone reads.
type Host struct {
	line io.ReadWriteCloser

	mu    sync.Mutex
	may   *sync.Cond // there is room, or err is set
	room  int
	err   error
	state []byte // of an escape begun in what was read before

	closing sync.Once
	closed  error // of closing
}

// NewHost returns the host's end.
func NewHost(line io.ReadWriteCloser) *Host {
	h := &Host{line: line, room: Window}
	h.may = sync.NewCond(&h.mu)
	return h
}

// Read reads what the guest sent.
func (h *Host) Read(p []byte) (int, error) {
	for {
		n, err := h.line.Read(p)
		kept, badErr := h.take(p[:n])
		if badErr != nil {
			err = badErr
		}
		if err != nil {
			h.fail(err)
		}
		if kept > 0 || err != nil || len(p) == 0 {
			return kept, err
		}
	}
}

// take removes escapes from p, in place, and credits what the guest has read.
func (h *Host) take(p []byte) (kept int, err error) {
	for _, b := range p {
		switch {
		case len(h.state) == 0 && b != escape:
			p[kept] = b
			kept++
			continue
		case len(h.state) == 1 && b == literal:
			p[kept] = escape
			kept++
			h.state = h.state[:0]
			continue
		case len(h.state) == 1 && b != credit:
			return kept, fmt.Errorf("serial line: escape %#02x %#02x: not one of the guest's", escape, b)
		}
		h.state = append(h.state, b)
		if len(h.state) == 4 {
			if err := h.credit(int(h.state[2])<<8 | int(h.state[3])); err != nil {
				return kept, err
			}
			h.state = h.state[:0]
		}
	}
	return kept, nil
}

func (h *Host) credit(n int) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.room += n; h.room > Window {
		return fmt.Errorf("serial line: the guest has read %d bytes more than it was sent", h.room-Window)
	}
	h.may.Broadcast()
	return nil
}

func (h *Host) fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err == nil {
		h.err = err
	}
	h.may.Broadcast()
}

// Write sends p to the guest, as the guest has room for it.
func (h *Host) Write(p []byte) (sent int, err error) {
	for sent < len(p) {
		h.mu.Lock()
		for h.room == 0 && h.err == nil {
			h.may.Wait()
		}
		n := min(h.room, len(p)-sent)
		h.room -= n
		err := h.err
		h.mu.Unlock()
		if err != nil {
			return sent, err
		}
		n, err = h.line.Write(p[sent : sent+n])
		sent += n
		if err != nil {
			return sent, err
		}
	}
	return sent, nil
}

// Close closes the line, once, and ends a Write that waits.
func (h *Host) Close() error {
	h.fail(io.ErrClosedPipe)
	h.closing.Do(func() { h.closed = h.line.Close() })
	return h.closed
}
