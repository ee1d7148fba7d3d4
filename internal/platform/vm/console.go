package vm

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
)

// alive is what the agent prints on the console first thing as init: proof that
// the guest's kernel got as far as running a program.
const alive = "tare-agent"

// A Console takes what QEMU and the guest print and calls seen once the agent shows.
type Console struct {
	seen func()
	mu   sync.Mutex
	text []byte
}

// NewConsole returns a console that calls seen, maybe more than once, when the agent shows.
func NewConsole(seen func()) *Console { return &Console{seen: seen} }

// maxConsole bounds what is kept of a console, in bytes; a boot prints some 30 KiB.
const maxConsole = 1 << 20

func (c *Console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text = append(c.text, p...)
	if bytes.Contains(c.text, []byte(alive)) {
		c.seen()
	}
	if len(c.text) > maxConsole {
		c.text = append([]byte(nil), c.text[len(c.text)-maxConsole/2:]...)
	}
	return len(p), nil
}

// Shows reports whether the agent has shown.
func (c *Console) Shows() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes.Contains(c.text, []byte(alive))
}

// LastWords is the end of what was printed, as a part of a sentence.
func (c *Console) LastWords() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(c.text)), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return fmt.Sprintf("last said %.200q", last)
	}
	return "said nothing"
}
