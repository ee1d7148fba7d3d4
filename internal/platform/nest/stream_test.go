package nest

import (
	"errors"
	"io"
	"net"
	"testing"
)

// Where the other half has ended, the inner agent's stream says why; else it ends as it does.
func TestStreamSaysWhyItEnded(t *testing.T) {
	for _, why := range []error{nil, errors.New("tare in the outer guest ended: the guest's kernel panicked")} {
		port, guest := net.Pipe()
		control, _ := net.Pipe()
		i := &instance{stream: port, control: newControl(control)}
		go func() {
			_, _ = guest.Write([]byte("hello"))
			if why != nil {
				i.control.close(why)
			}
			guest.Close()
		}()
		said, err := io.ReadAll(i.Stream())
		if string(said) != "hello" || !errors.Is(err, why) {
			t.Errorf("%q, and then %v, want %v", said, err, why)
		}
	}
}
