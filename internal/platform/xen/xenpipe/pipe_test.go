package xenpipe

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"testing"
)

// wire is an event channel in this process.
type wire struct {
	to, from chan struct{}
	shut     chan struct{}
}

func (w *wire) Ring() error {
	select {
	case w.to <- struct{}{}:
	default: // one is pending
	}
	return nil
}

func (w *wire) Wait() error {
	select {
	case <-w.from:
		return nil
	case <-w.shut:
		return io.ErrClosedPipe
	}
}

func (w *wire) Close() error {
	close(w.shut)
	return nil
}

// connected returns the two ends of a pipe over one memory.
func connected(t *testing.T) (guest, host *Pipe, mem []byte) {
	t.Helper()
	mem = make([]byte, pages*pageSize)
	a, b := make(chan struct{}, 1), make(chan struct{}, 1)
	guest, host = newPipe(domain), newPipe(control)
	guest.connect(mem, &wire{a, b, make(chan struct{})}, func() error { return nil })
	host.connect(mem, &wire{b, a, make(chan struct{})}, func() error { return nil })
	t.Cleanup(func() { guest.Close(); host.Close() })
	return guest, host, mem
}

// A megabyte there and back arrives whole, also where the counters wrap around.
func TestEcho(t *testing.T) {
	guest, host, _ := connected(t)
	for s := range 2 {
		for _, at := range []int{atWritten, atRead} {
			guest.word(s*direction + at).Store(^uint32(0) - 100_000)
		}
	}
	go io.Copy(guest, guest)
	want := make([]byte, 1<<20)
	rand.Read(want)
	go host.Write(want)
	got := make([]byte, len(want))
	if _, err := io.ReadFull(host, got); err != nil || !bytes.Equal(got, want) {
		t.Errorf("what came back is not what was sent: %v", err)
	}
}

// What was written before the other side closed is read, then the end.
func TestCloseIsSeen(t *testing.T) {
	guest, host, _ := connected(t)
	if _, err := guest.Write([]byte("last words")); err != nil {
		t.Fatal(err)
	}
	if err := guest.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(host); string(got) != "last words" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
	if _, err := host.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("wrote to a closed pipe: %v", err)
	}
	if _, err := guest.Read(make([]byte, 1)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("read from a closed end: %v", err)
	}
}

// Close and End let those who wait go, connected or not.
func TestWaitersAreLetGo(t *testing.T) {
	_, host, _ := connected(t)
	for name, c := range map[string]struct {
		pipe *Pipe
		end  func(*Pipe)
		want error
	}{
		"end":               {host, (*Pipe).End, io.EOF},
		"close unconnected": {newPipe(control), func(p *Pipe) { p.Close() }, io.ErrClosedPipe},
		"full":              {newPipe(control), (*Pipe).End, io.EOF},
	} {
		ended := make(chan error)
		go func() {
			var err error
			if name == "full" {
				_, err = c.pipe.Write(make([]byte, 2*ringSize))
			} else {
				_, err = c.pipe.Read(make([]byte, 1))
			}
			ended <- err
		}()
		c.end(c.pipe)
		if err := <-ended; !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// A guest that writes nonsense into the shared page is refused, not believed.
func FuzzCounters(f *testing.F) {
	f.Add(uint32(ringSize+1), uint32(0), uint32(0), uint32(1))
	f.Add(uint32(5), uint32(0), uint32(0), uint32(0))
	f.Fuzz(func(t *testing.T, written, read, written2, read2 uint32) {
		_, host, _ := connected(t)
		host.word(atWritten).Store(written)
		host.word(atRead).Store(read)
		host.word(direction + atWritten).Store(written2)
		host.word(direction + atRead).Store(read2)
		host.End()
		n, err := host.Read(make([]byte, 2*ringSize))
		if held := written - read; held > ringSize && !errors.Is(err, errCounters) || held <= ringSize && n != int(held) {
			t.Errorf("read %d, %v of %d written and %d read", n, err, written, read)
		}
	})
}

func TestOffer(t *testing.T) {
	o := offer{7, []uint32{1, 2, 3, 4, 5, 6, 7, 8, 4294967295}}
	if len(o.refs) != pages {
		t.Fatalf("%d grants in the test, not %d", len(o.refs), pages)
	}
	if got, err := parseOffer(o.String()); got.String() != o.String() || err != nil {
		t.Errorf("%s is read as %s, %v", o, got, err)
	}
	for _, text := range []string{"", "7", "7:", "7:1,2", "x:1,2,3,4,5,6,7,8,9", "7:1,2,3,4,5,6,7,8,-9", "7:1,2,3,4,5,6,7,8,9,10"} {
		if got, err := parseOffer(text); err == nil {
			t.Errorf("%q is read as %s", text, got)
		}
	}
}
