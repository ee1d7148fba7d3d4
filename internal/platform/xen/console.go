package xen

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"tare/internal/agent"
	"tare/internal/serial"
)

// openConsole opens the terminal of a domain's console as the stream to the
// agent. What the guest's kernel says before is kept in the file words.
func openConsole(tty, words string) (*serial.Host, error) {
	// Made raw by another file: asking this one for its descriptor would let a
	// read go on after Close.
	if err := makeRaw(tty); err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	f, err := os.OpenFile(tty, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	log, err := os.Create(words)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("console: %w", err), f.Close())
	}
	c := &console{tty: f, log: log}
	return serial.NewHost(c, log), nil
}

func makeRaw(tty string) error {
	f, err := os.OpenFile(tty, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	_, err = agent.MakeRaw(f)
	return errors.Join(err, f.Close())
}

// console is the terminal with the file of what came before the stream.
type console struct{ tty, log *os.File }

// Read reads what the guest wrote. A terminal whose domain is gone gives EIO.
func (c *console) Read(p []byte) (int, error) {
	n, err := c.tty.Read(p)
	if errors.Is(err, unix.EIO) {
		err = io.EOF
	}
	return n, err
}

// magic is what the guest's kernel takes on its console for the beginning of a
// command to itself (drivers/tty/hvc/hvc_console.c); sent twice it is passed on once.
const magic = 0x0f

// Write sends p to the guest.
func (c *console) Write(p []byte) (int, error) {
	if _, err := c.tty.Write(bytes.ReplaceAll(p, []byte{magic}, []byte{magic, magic})); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close closes both.
func (c *console) Close() error { return errors.Join(c.tty.Close(), c.log.Close()) }
