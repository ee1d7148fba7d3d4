// Package serial carries a byte stream over a serial line without flow control. If the host sends
// more than the guest has room for, bytes are lost, or the line stops forever. User-mode Linux's
// line stops once its terminal layer was full (arch/um/drivers/line.c: throttling the line removes
// its interrupt).
//
// Bytes to the guest are sent unchanged, but at most [Window] more than the guest has reported as
// read. The guest reports that within its own stream:
//
//	F7 00        stands for a byte F7
//	F7 01 HI LO  HI*256+LO more bytes were read
//	F7 02        the stream begins: what came before is the console's
//
// The last is for machines with one line only, which is the console until the
// stream begins. F7 is in no text of ASCII or UTF-8.
package serial

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Window is how many bytes may be in flight to the guest. It is below a terminal's buffer, 4096
// bytes.
const Window = 2048

// grant is how many bytes the guest reads before it reports them.
const grant = Window / 4

// The escape and what follows it.
const (
	escape  = 0xF7
	literal = 0x00
	credit  = 0x01
	begin   = 0x02
)

// Guest is the guest's end of the line. Read and Write may be called at the same time, each by one goroutine.
type Guest struct {
	line  io.ReadWriter
	mu    sync.Mutex // of writing
	begun bool
	read  int // since the last grant
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
	wErr := g.send([]byte{escape, credit, byte(g.read >> 8), byte(g.read)})
	g.read = 0
	return n, errors.Join(err, wErr)
}

// send writes to the line, which it begins with.
func (g *Guest) send(p []byte) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.begun {
		p = append([]byte{escape, begin}, p...)
	}
	_, err := g.line.Write(p)
	g.begun = g.begun || err == nil
	return err
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
	if err := g.send(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Host is the host's end of the line. A Write goes on only while someone reads.
type Host struct {
	line    io.ReadWriteCloser
	console io.Writer // takes what comes before the stream begins; nil from then on

	mu    sync.Mutex
	may   *sync.Cond // there is room, or err is set
	room  int
	err   error
	state []byte // the beginning of an escape, whose end is yet to be read

	closing sync.Once
	closed  error // of closing
}

// NewHost returns the host's end. What comes before the guest begins the stream
// is written to console.
func NewHost(line io.ReadWriteCloser, console io.Writer) *Host {
	h := &Host{line: line, console: console, room: Window}
	h.may = sync.NewCond(&h.mu)
	return h
}

// Read reads what the guest sent.
func (h *Host) Read(p []byte) (int, error) {
	for {
		n, err := h.line.Read(p)
		kept, badErr := h.take(h.preface(p[:n]))
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

// preface moves the stream's bytes to the beginning of p and writes those before the stream to the
// console. It ignores the console's errors, because it is a log.
func (h *Host) preface(p []byte) []byte {
	if h.console == nil {
		return p
	}
	text := append(h.state, p...)
	at := bytes.Index(text, []byte{escape, begin})
	switch {
	case at >= 0:
		_, _ = h.console.Write(text[:at])
		h.console, h.state = nil, nil
		return p[:copy(p, text[at+2:])]
	case len(text) > 0 && text[len(text)-1] == escape:
		h.state = []byte{escape}
		text = text[:len(text)-1]
	default:
		h.state = nil
	}
	_, _ = h.console.Write(text)
	return nil
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
