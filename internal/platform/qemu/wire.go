package qemu

import (
	"io"
	"net"

	"golang.org/x/sys/unix"
)

// taken reports whether the other end of the socket has read all that was
// written to it (unix(7), SIOCOUTQ).
func taken(conn io.ReadWriteCloser) (bool, error) {
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return false, io.ErrClosedPipe
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return false, err
	}
	left := 0
	if cerr := raw.Control(func(fd uintptr) { left, err = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) }); cerr != nil {
		return false, cerr
	}
	return left == 0, err
}

// hangUp ends a socket whose peer may keep it open; what it has received is
// still read (unix_stream_read_generic in net/unix/af_unix.c).
func hangUp(conn io.ReadWriteCloser) error {
	if c, ok := conn.(*net.UnixConn); ok {
		return c.CloseRead()
	}
	return nil
}
