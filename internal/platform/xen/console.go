package xen

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"tare/internal/guest/agent"
	"tare/internal/platform/launch"
)

// console copies what a domain says on its console to a file.
type console struct {
	tty  *os.File
	done chan error // of the copying
}

// openConsole opens the terminal of a domain's console; what is said there is
// kept in the file words. ended is called when the domain has gone.
func openConsole(tty, words string, ended func()) (*console, error) {
	// Made raw by another file: asking this one for its descriptor would let a
	// read go on after Close.
	if err := makeRaw(tty); err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	f, err := os.OpenFile(tty, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	log, err := launch.Keep(words)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("console: %w", err), f.Close())
	}
	c := &console{f, make(chan error, 1)}
	go func() {
		_, err := io.Copy(log, f)
		// A terminal whose domain is gone gives EIO, one closed by us ErrClosed.
		if errors.Is(err, unix.EIO) || errors.Is(err, os.ErrClosed) {
			err = nil
		}
		c.done <- errors.Join(err, log.Close())
		ended()
	}()
	return c, nil
}

func makeRaw(tty string) error {
	f, err := os.OpenFile(tty, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	_, err = agent.MakeRaw(f)
	return errors.Join(err, f.Close())
}

// Close ends the copying and returns what became of it; of no console, nothing did.
func (c *console) Close() error {
	if c == nil {
		return nil
	}
	return errors.Join(c.tty.Close(), <-c.done)
}
