package nest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"tare/internal/guest/nested/wire"
)

// answering is a port at whose other end each request is answered by the next text.
func answering(t *testing.T, texts ...func(w io.Writer)) io.ReadWriteCloser {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { theirs.Close() })
	go func() {
		in := bufio.NewReader(theirs)
		for _, say := range texts {
			if _, err := in.ReadString('\n'); err != nil {
				return
			}
			say(theirs)
		}
	}()
	return ours
}

// A guest whose answer does not end is not listened to for longer than an answer may be; the limit is that of each.
func TestAnswersHaveALimit(t *testing.T) {
	long := func(n int) func(io.Writer) {
		return func(w io.Writer) { fmt.Fprintf(w, "{\"result\":%q}\n", strings.Repeat("x", n)) }
	}
	var sent int
	endless := func(w io.Writer) {
		fmt.Fprint(w, `{"result":"`)
		for {
			n, err := w.Write([]byte(strings.Repeat("x", 64<<10)))
			if sent += n; err != nil {
				return
			}
		}
	}
	c := newControl(answering(t, long(maxAnswer*3/4), long(maxAnswer*3/4), endless))
	for range 2 {
		var said string
		if err := c.ask(t.Context(), wire.Request{Op: wire.OpMeters}, &said); err != nil || len(said) != maxAnswer*3/4 {
			t.Fatalf("%d bytes, %v", len(said), err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for range 2 { // the port is closed, and later questions are told why
		if err := c.ask(ctx, wire.Request{Op: wire.OpMeters}, new(string)); err == nil || !strings.Contains(err.Error(), "an answer of more than 1048576 bytes") {
			t.Errorf("an answer without an end: %v", err)
		}
	}
	if sent > 2*maxAnswer {
		t.Errorf("%d bytes were read of it", sent)
	}
}
