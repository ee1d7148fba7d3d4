package xen

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

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
	return serial.NewHost(&console{tty: f, log: log}), nil
}

func makeRaw(tty string) error {
	f, err := os.OpenFile(tty, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	_, err = agent.MakeRaw(f)
	return errors.Join(err, f.Close())
}

// console is the terminal, with what is read before the agent greets kept.
type console struct {
	tty *os.File
	mu  sync.Mutex
	log *os.File // nil once the agent has greeted
}

// greeting is the first byte of the agent's greeting, which no text has.
const greeting = 0x16

// Read reads what the guest wrote. A terminal whose domain is gone gives EIO.
func (c *console) Read(p []byte) (int, error) {
	n, err := c.tty.Read(p)
	c.keep(p[:n])
	if errors.Is(err, unix.EIO) {
		err = io.EOF
	}
	return n, err
}

func (c *console) Write(p []byte) (int, error) { return c.tty.Write(p) }

func (c *console) keep(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.log == nil {
		return
	}
	text, _, greeted := bytes.Cut(p, []byte{greeting})
	_, err := c.log.Write(text)
	if greeted || err != nil {
		c.log.Close()
		c.log = nil
	}
}

// Close closes the terminal.
func (c *console) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.log != nil {
		c.log.Close()
		c.log = nil
	}
	return c.tty.Close()
}
