package agent

import (
	"context"
	"fmt"
	"io"
	"sync"
)

// credit is how much a sender may still send. One goroutine takes from it.
type credit struct {
	mu   sync.Mutex
	n    int
	more chan struct{} // holds a token when n may have grown
}

func newCredit(n int) *credit { return &credit{n: n, more: make(chan struct{}, 1)} }

func (c *credit) add(n int) {
	c.mu.Lock()
	c.n = min(c.n+n, 1<<30)
	c.mu.Unlock()
	select {
	case c.more <- struct{}{}:
	default:
	}
}

// wait waits until something may be sent and returns how much, at most limit. 0 means that ctx
// ended or one of the channels was closed.
func (c *credit) wait(ctx context.Context, limit int, broken, over <-chan struct{}) int {
	for {
		c.mu.Lock()
		n := min(c.n, limit)
		c.mu.Unlock()
		if n > 0 {
			return n
		}
		select {
		case <-c.more:
		case <-broken:
			return 0
		case <-over:
			return 0
		case <-ctx.Done():
			return 0
		}
	}
}

// spend takes n off the credit.
func (c *credit) spend(n int) {
	c.mu.Lock()
	c.n -= n
	c.mu.Unlock()
}

// inbox holds what was received until its consumer takes it: never more than
// the window.
type inbox struct {
	mu     sync.Mutex
	chunks [][]byte
	size   int
	ended  error // io.EOF, or why no more will come
	more   chan struct{}
}

func newInbox() *inbox { return &inbox{more: make(chan struct{}, 1)} }

// push stores a copy of p; it fails when the sender overran its credit.
func (b *inbox) push(p []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended != nil {
		return fmt.Errorf("%d bytes of data after its end", len(p))
	}
	if b.size+len(p) > window {
		return fmt.Errorf("more than %d bytes of data under way", window)
	}
	b.size += len(p)
	b.chunks = append(b.chunks, append([]byte(nil), p...))
	b.wake()
	return nil
}

// end says that nothing more will be pushed. why is the error, nil at the regular end.
func (b *inbox) end(why error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if why == nil {
		why = io.EOF
	}
	b.ended = why
	b.wake()
}

func (b *inbox) wake() {
	select {
	case b.more <- struct{}{}:
	default:
	}
}

// pop waits for the next chunk. It returns io.EOF after the last, or what end
// was told, and io.ErrClosedPipe when stop was closed. The chunk counts against the window until done.
func (b *inbox) pop(stop <-chan struct{}) ([]byte, error) {
	for {
		b.mu.Lock()
		if len(b.chunks) > 0 {
			p := b.chunks[0]
			b.chunks[0] = nil
			b.chunks = b.chunks[1:]
			b.mu.Unlock()
			return p, nil
		}
		ended := b.ended
		b.mu.Unlock()
		if ended != nil {
			return nil, ended
		}
		select {
		case <-b.more:
		case <-stop:
			return nil, io.ErrClosedPipe
		}
	}
}

// done says that n popped bytes are dealt with.
func (b *inbox) done(n int) {
	b.mu.Lock()
	b.size -= n
	b.mu.Unlock()
}

// grants gathers what was dealt with until it is worth a window frame.
type grants struct{ n int }

// add returns how much to grant now: nothing, or at least a quarter of the window.
func (g *grants) add(n int) int {
	g.n += n
	if g.n < window/4 {
		return 0
	}
	n, g.n = g.n, 0
	return n
}
