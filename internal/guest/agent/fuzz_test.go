package agent

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// FuzzFrames: whatever is read as frames is what would be written for them.
func FuzzFrames(f *testing.F) {
	f.Add(appendFrame(appendFrame(nil, typeClock, 1, nil), typeStdout, 2, []byte("text")))
	f.Add([]byte("C\x00\x00\x00\x01\xff\xff\xff\xff"))
	f.Add([]byte("C\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		d := &frameReader{r: bytes.NewReader(data)}
		var again []byte
		for {
			fr, err := d.next()
			if err == io.EOF && !bytes.Equal(again, data) {
				t.Fatalf("%q was read as %q", data, again)
			}
			if err != nil {
				return
			}
			again = appendFrame(again, fr.kind, fr.id, fr.payload)
		}
	})
}

// FuzzAgent: garbage ends the agent or is answered; it neither panics nor hangs.
// Only the operations that touch nothing are let through.
func FuzzAgent(f *testing.F) {
	begin := appendJSON([]byte(magic), typeHello, 0, clientHello{Version: Version})
	f.Add(appendFrame(nil, typeClock, 1, nil))
	f.Add(appendFrame(appendFrame(nil, typeSample, 2, nil), typeBye, 3, nil))
	f.Add(appendJSON(nil, typeExec, 4, execRequest{Stdin: 5}))
	f.Add(appendFrame(appendJSON(nil, typePut, 5, putRequest{Path: "relative"}), typeData, 5, []byte("x")))
	f.Add(appendJSON(nil, typeFacts, 7, FactsRequest{}))
	f.Add(appendWindow(nil, 6, streamOut, 1<<31-1))
	f.Fuzz(func(t *testing.T, data []byte) {
		if bytes.ContainsAny(data, "XPF") && bytes.ContainsAny(data, "/\\") { // a program or a file
			t.Skip("might run a program or write a file")
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		_ = Serve(ctx, bytes.NewReader(append(begin[:len(begin):len(begin)], data...)), io.Discard, Options{})
		if ctx.Err() != nil {
			t.Fatalf("%q hangs the agent", data)
		}
	})
}

// listensMost is more than the client has to say.
const listensMost = 1 << 20

// deaf is an agent that says what is scripted, and after so many bytes does not listen any more.
type deaf struct {
	io.ReadWriteCloser
	listens atomic.Int64
	closed  chan struct{}
	once    sync.Once
}

func newDeaf(script io.ReadWriteCloser, listens int) *deaf {
	d := &deaf{ReadWriteCloser: script, closed: make(chan struct{})}
	d.listens.Store(int64(listens))
	return d
}

func (d *deaf) Write(p []byte) (int, error) {
	if d.listens.Add(-int64(len(p))) < 0 {
		<-d.closed
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}

func (d *deaf) Close() error {
	d.once.Do(func() { close(d.closed) })
	return d.ReadWriteCloser.Close()
}

// FuzzClient: whatever an agent says, and whenever it stops reading, every call returns.
func FuzzClient(f *testing.F) {
	add := func(script []byte) {
		f.Add(script, listensMost-1, false)
		f.Add(script, 300, true)
		f.Add(script, 0, true)
	}
	add(nil)
	add(appendJSON(nil, typeStarted, 1, startedReply{PID: 5}))
	add(appendJSON(appendJSON(nil, typeStarted, 1, startedReply{PID: 5}), typeExit, 1, exitReply{Exit: 3}))
	add(appendFrame(appendJSON(nil, typeStarted, 1, startedReply{PID: 5}), typeStdout, 1, []byte("text")))
	add(appendJSON(nil, typeError, 1, errorReply{Message: "no", Hint: "try"}))
	add(appendFrame(nil, typeReply, 2, make([]byte, 16)))
	add(appendFrame(nil, typeReply, 4, []byte(`{"kernel": 6}`)))
	add(appendFrame(nil, typeWindow, 1, []byte("\x00\x00\x00\x00\x01")))
	f.Fuzz(func(t *testing.T, data []byte, listens int, silent bool) {
		const hangs = 20 * time.Second
		watch := time.AfterFunc(hangs, func() { panic(fmt.Sprintf("an agent that says %q and reads %d bytes hangs the client", data, listens)) })
		defer watch.Stop()
		answer := len(appendJSON([]byte(magic), typeHello, 0, clientHello{Version: Version}))
		c, err := Dial(context.Background(), newDeaf(scripted(greeting(Version, Version)+string(data), silent), answer+max(0, listens%listensMost)))
		if err != nil {
			t.Fatal(err)
		}
		c.patience = 5 * time.Millisecond
		limit := hangs
		if silent { // what waits for an answer ends with the context
			limit = 20 * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		values := make([]float64, len(c.Columns()))
		if silent { // a sample is written past the queue: here before anything waits in it
			_, _ = c.Sample(ctx, values)
		}
		p, err := c.Start(ctx, shell("true"), func([]byte) {})
		if err == nil {
			_, _ = p.Wait(ctx)
			_ = p.Kill(ctx)
		}
		_, _ = c.Sample(ctx, values)
		_, _ = c.Probe(ctx, 1)
		_, _ = c.Facts(ctx, FactsRequest{})
		_ = c.Put(ctx, "/f", 0o644, bytes.NewReader(make([]byte, 2*window)))
		c.Close()
		if ctx.Err() != nil && !silent {
			t.Fatalf("%q hangs the client", data)
		}
	})
}

// FuzzGreeting: the magic is found behind any noise, and only the magic is.
func FuzzGreeting(f *testing.F) {
	f.Add([]byte("noise"))
	f.Add([]byte(magic[:7]))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > maxNoise/2 {
			t.Skip("more noise than is skipped")
		}
		c, err := Dial(context.Background(), scripted(string(data)+greeting(Version, Version), false))
		if bytes.Contains(data, []byte(magic)) {
			return
		}
		if err != nil {
			t.Fatalf("behind %q: %v", data, err)
		}
		c.Close()
	})
}

func FuzzProcStat(f *testing.F) {
	f.Add([]byte("4242 (a ) (b) c) S 17 4242 4242 0 -1 4194560 1 2 3 4 100 50 7 3 20 0 5 0 987654 2301952 255"))
	f.Add([]byte("read_bytes: 1\nwrite_bytes: 2\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = parseProcStat(data)
		_, _, _ = parseProcIO(data)
	})
}
