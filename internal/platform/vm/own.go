package vm

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"tare/internal/bench"
)

// Mute is the stream of a machine without an agent: nothing comes from it, and it ends with the machine.
type Mute struct {
	over   <-chan struct{}
	closed chan struct{}
	once   sync.Once
}

// NewMute returns the stream of a machine whose monitor has ended when over is closed.
func NewMute(over <-chan struct{}) *Mute { return &Mute{over: over, closed: make(chan struct{})} }

// Read waits for the end.
func (m *Mute) Read([]byte) (int, error) {
	select {
	case <-m.over:
	case <-m.closed:
	}
	return 0, io.EOF
}

// Write fails: nobody listens.
func (m *Mute) Write([]byte) (int, error) {
	return 0, errors.New("the machine has no agent to talk to")
}

// Close ends the stream.
func (m *Mute) Close() error {
	m.once.Do(func() { close(m.closed) })
	return nil
}

// CheckOwn refuses a launch whose option says otherwise than what it is given to boot.
func CheckOwn(l bench.Launch) error {
	if (l.Options[bench.GuestOption] == bench.OwnGuest) == (l.Own != nil) {
		return nil
	}
	return fmt.Errorf("option %s=%s, and a kernel of the user's own given: %t: %w", bench.GuestOption, l.Options[bench.GuestOption], l.Own != nil, bench.ErrInvalid)
}
