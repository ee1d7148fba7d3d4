package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// lingerTime is how long after a command's end its output is awaited while
	// a process it left behind still holds the pipe.
	lingerTime = 200 * time.Millisecond
	// drainTime is how long an output pipe must stay empty to count as drained.
	drainTime = 5 * time.Millisecond
	// maxDrain bounds what is drained from a pipe after lingerTime, in bytes:
	// the most a pipe holds (pipe(7), pipe-max-size).
	maxDrain = 1 << 20
)

// pipe returns a pollable read end, and a write end that is as a program expects it: blocking.
func pipe() (*os.File, int, error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return nil, 0, fmt.Errorf("make a pipe: %w", err)
	}
	if err := unix.SetNonblock(p[0], true); err != nil {
		unix.Close(p[0])
		unix.Close(p[1])
		return nil, 0, fmt.Errorf("make a pipe: %w", err)
	}
	return os.NewFile(uintptr(p[0]), "pipe"), p[1], nil
}

// pump sends what a command writes to f, as the client's credit allows, until
// the pipe ends or the command has and the pipe is empty. What a process left
// behind writes later is read and dropped, so that it never blocks or is killed
// by it.
func (s *server) pump(c *command, stream, kind byte, f *os.File, done chan<- struct{}) {
	buf := make([]byte, headerSize+maxData)
	room := maxDrain
	for draining := false; ; {
		n := c.credit[stream].wait(context.Background(), maxData, s.gone, c.dead)
		discard := n == 0
		if discard {
			n = maxData
		}
		if draining {
			_ = f.SetReadDeadline(time.Now().Add(drainTime)) // fails only on a closed file
		}
		n, err := f.Read(buf[headerSize : headerSize+n])
		if n > 0 && !discard {
			c.credit[stream].spend(n)
			putHeader(buf, kind, c.id, n)
			s.send(buf[:headerSize+n])
		}
		if draining {
			room -= n
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded) && !draining:
			draining = true
		case errors.Is(err, os.ErrDeadlineExceeded) || draining && room <= 0:
			done <- struct{}{}
			_ = f.SetReadDeadline(time.Time{})
			_, _ = io.CopyBuffer(io.Discard, f, buf) // ends with the last process that holds the pipe
			f.Close()
			return
		case err != nil:
			f.Close()
			done <- struct{}{}
			return
		}
	}
}
