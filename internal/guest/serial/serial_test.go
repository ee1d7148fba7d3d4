package serial

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// line is a serial line whose guest end loses what finds no room.
type line struct {
	toGuest chan byte
	*io.PipeReader
	lost int
}

func (l *line) Write(p []byte) (int, error) {
	for _, b := range p {
		select {
		case l.toGuest <- b:
		default:
			l.lost++
		}
	}
	return len(p), nil
}

// guestEnd reads from the line's buffer and writes to its pipe.
type guestEnd struct {
	line *line
	*io.PipeWriter
}

func (g guestEnd) Read(p []byte) (int, error) {
	b, ok := <-g.line.toGuest
	if !ok {
		return 0, io.EOF
	}
	p[0] = b
	n := 1
	for n < len(p) && len(g.line.toGuest) > 0 {
		p[n] = <-g.line.toGuest
		n++
	}
	return n, nil
}

func connect() (*line, *Host, *Guest) {
	r, w := io.Pipe()
	l := &line{toGuest: make(chan byte, 4096-128), PipeReader: r}
	return l, NewHost(l, io.Discard), NewGuest(guestEnd{l, w})
}

// A megabyte there and back arrives whole through a line of 4 KiB.
func TestEcho(t *testing.T) {
	l, h, g := connect()
	go io.Copy(g, g)
	want := make([]byte, 1<<20)
	rand.Read(want)
	copy(want[1000:], bytes.Repeat([]byte{escape}, 5000))
	go h.Write(want)
	got := make([]byte, len(want))
	if _, err := io.ReadFull(iotest.OneByteReader(h), got[:5000]); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(h, got[5000:]); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) || l.lost > 0 {
		t.Errorf("what came back is not what was sent; lost %d", l.lost)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

// What the machine prints before the stream begins goes to the console, however
// it is cut into pieces, and nothing after it does.
func TestConsoleBeforeTheStream(t *testing.T) {
	var line bytes.Buffer
	line.WriteString("Linux\r\n\xf7\xf7tare-agent\r\n")
	g := NewGuest(&line)
	for _, p := range []string{"hello \xf7", " world\r\n"} {
		if _, err := g.Write([]byte(p)); err != nil {
			t.Fatal(err)
		}
	}
	sent := line.Bytes()
	for _, pieces := range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader} {
		var console bytes.Buffer
		h := NewHost(struct {
			io.Reader
			io.WriteCloser
		}{pieces(bytes.NewReader(sent)), nil}, &console)
		got, err := io.ReadAll(h)
		if string(got) != "hello \xf7 world\r\n" || err != nil {
			t.Errorf("read %q, %v", got, err)
		}
		if text := console.String(); text != "Linux\r\n\xf7\xf7tare-agent\r\n" {
			t.Errorf("the console has %q", text)
		}
	}
}

// Without a reader inside, Write waits until the line is closed.
func TestCloseEndsWrite(t *testing.T) {
	l, h, _ := connect()
	ended := make(chan error)
	go func() {
		n, err := h.Write(make([]byte, 3*Window))
		if n != Window {
			err = errors.New("sent more than the window")
		}
		ended <- err
	}()
	for len(l.toGuest) < Window {
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("write ended with %v", err)
	}
}

func TestHostRefuses(t *testing.T) {
	for name, sent := range map[string][]byte{
		"escape": {escape, begin, escape, 7}, "too much credit": {escape, begin, escape, credit, 0, 1},
	} {
		l, h, _ := connect()
		l.PipeReader.Close()
		h.line = struct {
			io.Reader
			io.WriteCloser
		}{bytes.NewReader(sent), nil}
		if n, err := h.Read(make([]byte, 10)); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%s: read %d, %v", name, n, err)
		}
		if _, err := h.Write([]byte("x")); err == nil {
			t.Errorf("%s: wrote afterwards", name)
		}
	}
}

func FuzzHostRead(f *testing.F) {
	f.Add([]byte{1, escape, literal, escape, credit, 0, 0, 2}, 3)
	f.Add([]byte{1, escape, escape, begin, 2, escape, literal, escape, credit, 0, 0, 2}, 3)
	f.Fuzz(func(t *testing.T, sent []byte, size int) {
		h := NewHost(struct {
			io.Reader
			io.WriteCloser
		}{bytes.NewReader(sent), nil}, io.Discard)
		p := make([]byte, min(max(size, 1), 100))
		for got := 0; ; {
			n, err := h.Read(p)
			if got += n; got > len(sent) {
				t.Fatalf("read %d bytes of %d", got, len(sent))
			}
			if err != nil {
				return
			}
		}
	})
}
