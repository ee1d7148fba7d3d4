package vm

import (
	"bytes"
	"fmt"
	"strings"
	"sync"

	"tare/internal/platform/launch"
)

// alive is what the agent prints on the console first thing as init: proof that
// the guest's kernel got as far as running a program.
const alive = "tare-agent"

// A Console takes what QEMU and the guest print and calls decided once the agent
// shows, or one of them says that the guest cannot go on.
type Console struct {
	decided func()
	mu      sync.Mutex
	text    []byte
	last    launch.Recogniser
}

// NewConsole returns a console that calls decided, maybe more than once.
func NewConsole(decided func()) *Console { return &Console{decided: decided} }

// maxConsole bounds what is kept of a console, in bytes; a boot prints some 30 KiB.
const maxConsole = 1 << 20

func (c *Console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text = append(c.text, p...)
	_, _ = c.last.Write(p)
	if bytes.Contains(c.text, []byte(alive)) || c.last.Found() != nil {
		c.decided()
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

// Fatal is what was said of why the guest cannot go on, nil for nothing.
func (c *Console) Fatal() *launch.Fatal {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last.Found()
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
