// Package xenpipe carries byte streams between a domain of Xen's and its control
// domain, through pages that the domain grants and an event channel that says
// when to look at them, as Xen's own libvchan does.
//
// It takes the place of the domain's console for all that is not console.
// xenconsoled hears a domain 30 times in 200 ms and hands it at most 80 bytes each
// time (RATE_LIMIT_ALLOWANCE, handle_tty_read in tools/console/daemon/io.c of
// Xen), and the domain answers every 16 bytes it reads with an event, each of which counts: a megabyte takes
// a minute and a half at best.
//
// The domain [Offer]s a pipe: it grants the pages, makes the event channel and
// writes both to data/tare/NAME of its own place in the store. The control domain
// [Dial]s it, before or after.
//
// The first page holds, for each direction, two counters and two flags, little-endian words
// of 32 bits at the offsets below; the pages after it are the two rings, that to
// the control domain first. Counters count bytes and wrap around. Who is about
// to wait raises its flag and looks once more; who moves a counter rings the other side if its flag was up.
package xenpipe

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"unsafe"
)

// ringSize is the size of each ring, a power of two; pages are how many all take.
const (
	pageSize = 4096
	ringSize = 4 * pageSize
	pages    = 1 + 2*ringSize/pageSize
)

// The offsets of a direction's words, each in a cache line of its own, and of
// the sides' words that say they have closed.
const (
	atWritten     = 0x00 // bytes written so far
	atRead        = 0x40 // bytes read so far
	atReaderWaits = 0x80
	atWriterWaits = 0xc0
	direction     = 0x100 // the size of a direction's words
	atClosed      = 2 * direction
	closedStep    = 0x40
)

// side is one end's place in the pages.
type side int

const (
	domain  side = 0 // writes the first ring
	control side = 1 // writes the second
)

// bell is an event channel.
type bell interface {
	// Ring tells the other side to look.
	Ring() error
	// Wait waits until the other side has rung.
	Wait() error
	Close() error
}

// Pipe is one end. Read and Write may be called at the same time, each by one goroutine.
type Pipe struct {
	side side

	mu   sync.Mutex
	news *sync.Cond // something was rung, connected or closed
	mem  []byte     // nil before it is connected and after it is closed
	bell bell
	free func() error // gives the memory back
	err  error        // why nothing more can be read or written
	stop func()       // gives up connecting; nil once that is over
}

func newPipe(s side) *Pipe {
	p := &Pipe{side: s}
	p.news = sync.NewCond(&p.mu)
	return p
}

// connect begins the stream.
func (p *Pipe) connect(mem []byte, b bell, free func() error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stop = nil
	if p.err != nil { // closed meanwhile
		_ = errors.Join(b.Close(), free()) // nobody is left to be told
		return
	}
	p.mem, p.bell, p.free = mem, b, free
	p.news.Broadcast()
	go p.listen(b)
}

// listen passes on what is rung.
func (p *Pipe) listen(b bell) {
	for {
		err := b.Wait()
		p.mu.Lock()
		if err != nil && p.err == nil {
			p.err = fmt.Errorf("event channel: %w", err)
		}
		p.news.Broadcast()
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// fail ends the stream; what was written before can still be read.
func (p *Pipe) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = err
	}
	p.news.Broadcast()
}

// End tells that the other side is gone for good: reads meet the end of the stream.
func (p *Pipe) End() { p.fail(io.EOF) }

// word is one of the shared words.
func (p *Pipe) word(at int) *atomic.Uint32 { return (*atomic.Uint32)(unsafe.Pointer(&p.mem[at])) }

// towards is where the words of the direction lie in which the side writes.
func towards(s side) int { return int(s) * direction }

// ring is the memory of that direction.
func (p *Pipe) ring(s side) []byte {
	from := pageSize + int(s)*ringSize
	return p.mem[from : from+ringSize]
}

// errCounters is that of an other side that writes nonsense into the shared page.
var errCounters = errors.New("xen pipe: the other side's counters cannot be true")

// held is how much is in the ring that the side writes.
func (p *Pipe) held(s side) (n int, written, read uint32, err error) {
	at := towards(s)
	written, read = p.word(at+atWritten).Load(), p.word(at+atRead).Load()
	if written-read > ringSize {
		return 0, 0, 0, errCounters
	}
	return int(written - read), written, read, nil
}

// otherClosed says whether the other side has closed.
func (p *Pipe) otherClosed() bool { return p.word(atClosed+int(1-p.side)*closedStep).Load() != 0 }

// Read reads what the other side wrote.
func (p *Pipe) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		if p.mem != nil {
			closed := p.otherClosed() // before the look at what was written until then
			n, err := p.take(b)
			if n > 0 || err != nil {
				return n, err
			}
			if closed {
				return 0, io.EOF
			}
		}
		if p.err != nil {
			return 0, p.err
		}
		p.news.Wait()
	}
}

// take reads what there is; if there is nothing the flag is up afterwards.
func (p *Pipe) take(b []byte) (int, error) {
	from := 1 - p.side
	at, ring := towards(from), p.ring(from)
	n, _, read, err := p.held(from)
	if n == 0 && err == nil {
		p.word(at + atReaderWaits).Store(1)
		n, _, read, err = p.held(from)
	}
	if n == 0 || err != nil {
		return 0, err
	}
	n = min(n, len(b))
	start := int(read % ringSize)
	copied := copy(b[:n], ring[start:])
	copy(b[copied:n], ring)
	p.word(at + atRead).Store(read + uint32(n))
	return n, p.wake(at + atWriterWaits)
}

// wake rings the other side if it waits.
func (p *Pipe) wake(flag int) error {
	if p.word(flag).Swap(0) == 0 {
		return nil
	}
	if err := p.bell.Ring(); err != nil {
		return fmt.Errorf("event channel: %w", err)
	}
	return nil
}

// Write writes all of b, as there is room for it.
func (p *Pipe) Write(b []byte) (sent int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for sent < len(b) {
		if p.err != nil {
			return sent, p.err
		}
		n := 0
		if p.mem != nil {
			if p.otherClosed() {
				return sent, io.ErrClosedPipe
			}
			if n, err = p.put(b[sent:]); err != nil {
				return sent, err
			}
			sent += n
		}
		if n == 0 {
			p.news.Wait()
		}
	}
	return sent, nil
}

// put writes what there is room for; if there is none the flag is up afterwards.
func (p *Pipe) put(b []byte) (int, error) {
	at, ring := towards(p.side), p.ring(p.side)
	n, written, _, err := p.held(p.side)
	if n == ringSize && err == nil {
		p.word(at + atWriterWaits).Store(1)
		n, written, _, err = p.held(p.side)
	}
	room := min(ringSize-n, len(b))
	if room == 0 || err != nil {
		return 0, err
	}
	start := int(written % ringSize)
	copied := copy(ring[start:], b[:room])
	copy(ring, b[copied:room])
	p.word(at + atWritten).Store(written + uint32(room))
	return room, p.wake(at + atReaderWaits)
}

// Close ends the stream at both ends, once.
func (p *Pipe) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stop != nil {
		p.stop()
	}
	if p.err == nil {
		p.err = io.ErrClosedPipe
	}
	p.news.Broadcast()
	if p.mem == nil {
		return nil
	}
	p.word(atClosed + int(p.side)*closedStep).Store(1)
	_ = p.bell.Ring() // the other side may be gone
	p.mem = nil
	return errors.Join(p.bell.Close(), p.free())
}
