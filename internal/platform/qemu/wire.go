package qemu

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// wire is the byte stream to the agent. It outlives a move of the machine from
// one QEMU to another: reading goes on with the new one where the old one's
// stream ends, and writing waits meanwhile.
type wire struct {
	writing sync.Mutex // held while the machine moves

	mu     sync.Mutex
	conn   net.Conn // what is read and written
	next   net.Conn // what is read when conn has ended
	closed bool
}

// now is the connection of the moment, nil before the first.
func (w *wire) now() net.Conn {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.conn
}

func (w *wire) Read(p []byte) (int, error) {
	for {
		conn := w.now()
		n, err := conn.Read(p)
		if n > 0 || err == nil {
			return n, nil
		}
		w.mu.Lock()
		if w.next == nil || w.closed {
			w.mu.Unlock()
			return 0, err
		}
		w.conn, w.next = w.next, nil
		w.mu.Unlock()
		conn.Close()
	}
}

func (w *wire) Write(p []byte) (int, error) {
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
func (w *wire) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for _, c := range []net.Conn{w.conn, w.next} {
		if c != nil {
			c.Close()
		}
	}
	return nil
}

// hold keeps anything from being written until release, and waits until QEMU
// has taken what was: bytes left in the socket would not move with the guest.
func (w *wire) hold(ctx context.Context) (release func(), err error) {
	w.writing.Lock()
	for {
		left, err := unread(w.now())
		switch {
		case err != nil:
			w.writing.Unlock()
			return nil, err
		case left == 0:
			return w.writing.Unlock, nil
		}
		select {
		case <-ctx.Done():
			w.writing.Unlock()
			return nil, fmt.Errorf("the guest does not take %d bytes that were sent to it: %w", left, context.Cause(ctx))
		case <-time.After(time.Millisecond):
		}
	}
}

// turn makes conn what is written at once, and what is read after all that the
// present connection has received. Nothing more may come through that one.
func (w *wire) turn(conn net.Conn) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next = conn
	if c, ok := w.conn.(*net.UnixConn); ok && !w.closed {
		return c.CloseRead() // what is in the socket is still read (unix_stream_read_generic in net/unix/af_unix.c)
	}
	return nil
}

// unread is how many bytes the other end of a socket has not read yet (unix(7), SIOCOUTQ).
func unread(conn net.Conn) (n int, err error) {
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return 0, io.ErrClosedPipe
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	if cerr := raw.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) }); cerr != nil {
		return 0, cerr
	}
	return n, err
}
