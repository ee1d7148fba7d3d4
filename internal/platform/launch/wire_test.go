package launch

import (
	"errors"
	"io"
	"os"
	"testing"
	"time"
)

// duplex is two connected ends over pipes, as a program in the foreground has them.
func duplex(t *testing.T) (ours, theirs stream) {
	t.Helper()
	var files [4]*os.File
	for i := range 2 {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close(); w.Close() })
		files[2*i], files[2*i+1] = r, w
	}
	return stream{out: files[0], in: files[3]}, stream{out: files[2], in: files[1]}
}

// What the old stream received comes before what the new one does, a reader that found the old one's
// end waits for the new one, and what is written meanwhile goes there.
func TestWireTurns(t *testing.T) {
	first, source := duplex(t)
	second, destination := duplex(t)
	w := &Wire{}
	w.Connect(first)
	polls := 0
	release, err := w.Hold(t.Context(), func() (bool, error) { polls++; return polls == 3, nil })
	if err != nil || polls != 3 {
		t.Fatalf("held after %d polls: %v", polls, err)
	}
	wrote := make(chan error, 1)
	go func() {
		_, err := w.Write([]byte("later"))
		wrote <- err
	}()
	io.WriteString(source, "old ")
	source.Close()
	got := make([]byte, 7)
	if _, err := io.ReadFull(w, got[:4]); err != nil {
		t.Fatal(err)
	}
	read := make(chan error, 1)
	go func() {
		_, err := io.ReadFull(w, got[4:])
		read <- err
	}()
	io.WriteString(destination, "new")
	w.Turn(second)
	release()
	if err := errors.Join(<-wrote, <-read); err != nil || string(got) != "old new" {
		t.Errorf("read %q, %v", got, err)
	}
	if _, err := io.ReadFull(destination, got[:5]); err != nil || string(got[:5]) != "later" {
		t.Errorf("the destination was sent %q, %v", got[:5], err)
	}
	w.Close()
	if _, err := w.Read(got); err == nil {
		t.Error("a closed stream was read")
	}
}

// A move that comes to nothing ends the stream of an instance that is gone.
func TestWireOfAMoveThatFailed(t *testing.T) {
	ours, theirs := duplex(t)
	w := &Wire{}
	w.Connect(ours)
	release, err := w.Hold(t.Context(), func() (bool, error) { return true, nil })
	if err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	read := make(chan error, 1)
	go func() {
		_, err := w.Read(make([]byte, 1))
		read <- err
	}()
	select {
	case err := <-read:
		t.Fatalf("the reader did not wait for the move: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	release()
	if err := <-read; err != io.EOF {
		t.Errorf("read: %v, want EOF", err)
	}
	refused := errors.New("gone")
	if _, err := w.Hold(t.Context(), func() (bool, error) { return false, refused }); !errors.Is(err, refused) {
		t.Errorf("held: %v", err)
	}
}
