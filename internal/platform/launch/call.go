package launch

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"tare/internal/host/cgroup"
)

// Listen makes a socket in dir. It is reached through the directory's
// descriptor because a socket's path may have 107 bytes only (unix(7)).
func Listen(dir, name string) (*net.UnixListener, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	path := fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), name)
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("socket %s in %s: %w", name, dir, err)
	}
	ln.SetUnlinkOnClose(false) // the path ends with the descriptor
	return ln, nil
}

// ListenToAll makes [Socket] in dir, which any user may call: root of an
// instance in a user namespace is one.
func ListenToAll(dir string) (*net.UnixListener, error) {
	ln, err := Listen(dir, Socket)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(filepath.Join(dir, Socket), 0o666); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return ln, nil
}

// Call is the stream to an agent that calls: an init system starts it, so none
// of its files lead here, but it connects to a socket once it is up. Until
// then reads and writes wait.
type Call struct {
	ln    *net.UnixListener
	ready chan struct{} // closed when conn or err is set
	conn  net.Conn
	err   error
}

// AwaitCall takes one call of the instance's root on the socket, which it closes; when done is closed
// first, there will be none. The instance is what is in the group, or below it. Anyone else's call is
// hung up on, and the wait goes on.
func AwaitCall(ln *net.UnixListener, instance *cgroup.Group, done <-chan struct{}) *Call {
	c := &Call{ln: ln, ready: make(chan struct{})}
	go func() {
		select {
		case <-done:
			ln.Close()
		case <-c.ready:
		}
	}()
	go func() {
		defer close(c.ready)
		if c.conn, c.err = answer(ln, instance); c.err != nil {
			c.err = io.EOF // closed, from here or because the instance is gone
		}
		ln.Close()
	}()
	return c
}

// answer takes the first call that is the instance's.
func answer(ln *net.UnixListener, instance *cgroup.Group) (net.Conn, error) {
	for {
		conn, err := ln.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if isAgents(conn, instance) {
			return conn, nil
		}
		conn.Close()
	}
}

// isAgents reports whether it is root who called, the host's or that of a user namespace, from inside the
// instance: by what the kernel noted of the caller when it connected (SO_PEERCRED, unix(7)).
func isAgents(conn *net.UnixConn, instance *cgroup.Group) bool {
	raw, err := conn.SyscallConn()
	if err != nil {
		return false
	}
	var caller *unix.Ucred
	if cerr := raw.Control(func(fd uintptr) { caller, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); cerr != nil || err != nil {
		return false
	}
	if caller.Uid != 0 && caller.Uid != FirstID {
		return false
	}
	inside, err := instance.Holds(int(caller.Pid))
	return err == nil && inside
}

// Read implements [io.Reader].
func (c *Call) Read(p []byte) (int, error) {
	if <-c.ready; c.err != nil {
		return 0, c.err
	}
	return c.conn.Read(p)
}

// Write implements [io.Writer].
func (c *Call) Write(p []byte) (int, error) {
	if <-c.ready; c.err != nil {
		return 0, c.err
	}
	return c.conn.Write(p)
}

// Close hangs up.
func (c *Call) Close() error {
	c.ln.Close()
	if <-c.ready; c.err != nil {
		return nil
	}
	return c.conn.Close()
}
