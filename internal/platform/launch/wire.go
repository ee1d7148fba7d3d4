package launch

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// Wire is the byte stream to the agent of an instance that can move. It
// outlives the move: reading goes on with the new stream where the old one
// ends, and writing waits meanwhile.
type Wire struct {
	writing sync.Mutex // held while the instance moves

	mu      sync.Mutex
	conn    io.ReadWriteCloser // what is read and written
	next    io.ReadWriteCloser // what is read when conn has ended
	settled chan struct{}      // closed when it has moved or stays; nil unless it is about to move
	closed  bool
}

// Connect makes conn the stream, before anything is read or written.
func (w *Wire) Connect(conn io.ReadWriteCloser) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conn = conn
}

// Conn is the stream that is read at the moment, nil before the first.
func (w *Wire) Conn() io.ReadWriteCloser {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.conn
}

// Read implements [io.Reader].
func (w *Wire) Read(p []byte) (int, error) {
	for {
		conn := w.Conn()
		n, err := conn.Read(p)
		if n > 0 || err == nil {
			return n, nil
		}
		if !w.follow() {
			return 0, err
		}
		conn.Close()
	}
}

// follow goes on to the next stream, if there is one or will be.
func (w *Wire) follow() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.settled != nil && w.next == nil && !w.closed {
		settled := w.settled
		w.mu.Unlock()
		<-settled
		w.mu.Lock()
	}
	if w.next == nil || w.closed {
		return false
	}
	w.conn, w.next = w.next, nil
	return true
}

// Write implements [io.Writer].
func (w *Wire) Write(p []byte) (int, error) {
	w.writing.Lock()
	defer w.writing.Unlock()
	w.mu.Lock()
	conn := w.conn
	if w.next != nil {
		conn = w.next
	}
	w.mu.Unlock()
	return conn.Write(p)
}

// Close ends reading and writing.
func (w *Wire) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.settle()
	for _, c := range []io.ReadWriteCloser{w.conn, w.next} {
		if c != nil {
			c.Close()
		}
	}
	return nil
}

// Hold keeps anything from being written until release, and waits until the
// instance has taken what was: bytes on the way would not move with it. taken
// reports whether it has.
func (w *Wire) Hold(ctx context.Context, taken func() (bool, error)) (release func(), err error) {
	w.writing.Lock()
	for {
		done, err := taken()
		if err == nil && done {
			break
		}
		if err != nil {
			w.writing.Unlock()
			return nil, err
		}
		select {
		case <-ctx.Done():
			w.writing.Unlock()
			return nil, fmt.Errorf("the instance does not take what was sent to it: %w", context.Cause(ctx))
		case <-time.After(time.Millisecond):
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settled = make(chan struct{})
	return func() {
		w.mu.Lock()
		w.settle()
		w.mu.Unlock()
		w.writing.Unlock()
	}, nil
}

// Turn makes conn what is written at once, and what is read after all that the
// present stream has received. Nothing more may come through that one. It
// is for use while the wire is held.
func (w *Wire) Turn(conn io.ReadWriteCloser) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next = conn
	w.settle()
}

// settle lets readers go on that wait for the move. The lock is held.
func (w *Wire) settle() {
	if w.settled != nil {
		close(w.settled)
		w.settled = nil
	}
}
