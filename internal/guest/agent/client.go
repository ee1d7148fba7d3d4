package agent

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tare/internal/bench"
	"tare/internal/host/clock"
)

// byeTimeout is how long Close waits for the agent to say bye.
const byeTimeout = 2 * time.Second

// writeTimeout is how long a write may take. A write is little more than 32 KiB at most. Even an
// emulated guest's serial line takes that in a few seconds.
const writeTimeout = 10 * time.Second

// Client is the host's end of a stream to an agent. Its methods may be called
// from several goroutines. Once the stream breaks, every pending and later call
// fails at once with the cause.
type Client struct {
	rw      io.ReadWriteCloser
	hello   Hello
	greeted int64
	mark    string       // of the instance's processes, "" for none
	heard   atomic.Int64 // clock.Now when the last frame arrived

	// wmu is held during a write. late breaks the stream if a write takes longer than patience.
	// asked says that a request was written past the queue and nothing was received since.
	wmu      sync.Mutex
	late     *time.Timer
	patience time.Duration
	asked    atomic.Bool

	hangUp sync.Once // closes rw
	hung   error     // of that

	out    chan outgoing
	wake   chan struct{} // holds a token when window is not empty
	broken chan struct{} // closed once err is set

	mu     sync.Mutex
	err    error
	lastID uint32
	calls  map[uint32]receiver
	window []byte // window frames to be sent
	closed bool
}

// outgoing is one write. If sent is not nil it receives the time right before it.
type outgoing struct {
	data []byte
	sent *atomic.Int64
}

// receiver takes the frames of one operation, in order, on the goroutine that
// reads the stream: it must not block. It reports whether the operation is over.
type receiver interface {
	receive(f frame, at int64) (over bool, err error)
}

// Dial waits for the agent's greeting on rw and agrees on a protocol version. The error includes
// any output before the greeting, such as a platform's own error message. A Dial that fails closes
// rw.
func Dial(ctx context.Context, rw io.ReadWriteCloser) (*Client, error) {
	c := &Client{
		rw:     rw,
		out:    make(chan outgoing),
		wake:   make(chan struct{}, 1),
		broken: make(chan struct{}),
		calls:  map[uint32]receiver{},

		patience: writeTimeout,
	}
	c.late = time.AfterFunc(writeTimeout, c.giveUp)
	c.late.Stop()
	src := &stampedReader{r: rw}
	frames := &frameReader{r: bufio.NewReaderSize(src, 2*maxData)}
	var noise noiseLog
	done := make(chan error, 1)
	go func() { done <- c.greet(frames, src, &noise) }()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		err = noise.fail(context.Cause(ctx))
	}
	if err != nil {
		c.hang()
		return nil, fmt.Errorf("agent: %w", err)
	}
	go c.read(frames, src)
	go c.write()
	return c, nil
}

// Mark gives the programs of all commands started from here on the process mark in their environment,
// on whatever platform they run: an environment of another size lies elsewhere in memory, and so does
// a program's stack. It must be called before the first of them.
func (c *Client) Mark(id string) { c.mark = id }

// greet reads the agent's greeting and hello and answers them.
func (c *Client) greet(frames *frameReader, src *stampedReader, noise *noiseLog) error {
	at, err := awaitMagic(frames.r.(*bufio.Reader), src, noise)
	if err != nil {
		return err
	}
	c.greeted = at
	f, err := frames.next()
	if err != nil {
		return fmt.Errorf("waiting for the hello: %w", err)
	}
	c.heard.Store(src.at)
	if f.kind == typeError {
		return remoteError("hello", f)
	}
	if f.kind != typeHello {
		return fmt.Errorf("waiting for the hello: got frame %q", f.kind)
	}
	if err := f.decode(&c.hello); err != nil {
		return err
	}
	if c.hello.Version < MinVersion || c.hello.MinVersion > Version {
		return fmt.Errorf("it speaks protocol versions %d to %d, this program %d to %d%w",
			c.hello.MinVersion, c.hello.Version, MinVersion, Version,
			bench.Hint("use the tare-agent that was built together with tare"))
	}
	if err := c.hello.check(); err != nil {
		return err
	}
	answer := appendJSON([]byte(magic), typeHello, 0, clientHello{Version: min(Version, c.hello.Version)})
	if _, err := c.rw.Write(answer); err != nil {
		return fmt.Errorf("answering the hello: %w", err)
	}
	return nil
}

// Hello returns the agent's description of itself from the greeting.
func (c *Client) Hello() Hello { return c.hello }

// GreetedAt returns when the greeting's first byte was read, in nanoseconds of [clock.Now].
func (c *Client) GreetedAt() int64 { return c.greeted }

// read hands every frame to its operation until the stream breaks.
func (c *Client) read(frames *frameReader, src *stampedReader) {
	for {
		f, err := frames.next()
		if err == io.EOF {
			err = fmt.Errorf("the agent is gone: %w", io.ErrUnexpectedEOF)
		}
		if err == nil {
			err = c.dispatch(f, src.at)
		}
		if err != nil {
			c.fail(err)
			return
		}
	}
}

func (c *Client) dispatch(f frame, at int64) error {
	c.heard.Store(at)
	c.asked.Store(false)
	if f.id == 0 {
		if f.kind == typeError {
			return remoteError("the agent", f)
		}
		return fmt.Errorf("frame %q with id 0", f.kind)
	}
	c.mu.Lock()
	r := c.calls[f.id]
	c.mu.Unlock()
	if r == nil {
		return nil // a frame of an abandoned operation
	}
	over, err := r.receive(f, at)
	if over {
		c.forget(f.id)
	}
	return err
}

// write sends what is queued, one frame a write.
func (c *Client) write() {
	for {
		var o outgoing
		select {
		case o = <-c.out:
		case <-c.wake:
			c.mu.Lock()
			o.data, c.window = c.window, nil
			c.mu.Unlock()
		case <-c.broken:
			return
		}
		c.wmu.Lock()
		err := c.writeOut(o)
		c.wmu.Unlock()
		if err != nil {
			return
		}
	}
}

// writeOut writes; wmu is held.
func (c *Client) writeOut(o outgoing) error {
	if o.sent != nil {
		o.sent.Store(clock.Now())
	}
	c.late.Reset(c.patience)
	_, err := c.rw.Write(o.data)
	c.late.Stop()
	if err != nil {
		c.fail(fmt.Errorf("write to the agent: %w", err))
	}
	return err
}

// ErrDeaf says that an agent does not read its stream.
var ErrDeaf = errors.New("it reads nothing")

// giveUp breaks a stream whose other end does not read. This ends the blocked write.
func (c *Client) giveUp() {
	c.fail(fmt.Errorf("%w: something written to it was not taken within %v", ErrDeaf, c.patience))
	_ = c.hang() // the cause is known
}

// hang closes the stream, once.
func (c *Client) hang() error {
	c.hangUp.Do(func() { c.hung = c.rw.Close() })
	return c.hung
}

// Err returns why the stream broke, nil if it has not. Closing the client is not an error.
func (c *Client) Err() error {
	if err := c.failure(); !errors.Is(err, errClosed) {
		return err
	}
	return nil
}

// direct writes a small request past the queue, which saves two goroutine switches. It does so only
// if no other write is in progress and the agent has sent something since the last direct write. So
// it does not block, unless the agent sends without reading. Then it blocks for at most
// writeTimeout.
func (c *Client) direct(o outgoing) bool {
	if !c.asked.CompareAndSwap(false, true) {
		return false
	}
	if !c.wmu.TryLock() {
		c.asked.Store(false)
		return false
	}
	defer c.wmu.Unlock()
	return c.writeOut(o) == nil
}

// fail records the first cause and fails every call.
func (c *Client) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = fmt.Errorf("agent: %w", err)
		close(c.broken)
	}
}

func (c *Client) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// register gives an operation its id.
func (c *Client) register(r receiver) uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		c.lastID++
		if _, taken := c.calls[c.lastID]; c.lastID != 0 && !taken {
			c.calls[c.lastID] = r
			return c.lastID
		}
	}
}

func (c *Client) forget(id uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, id)
}

// send queues a write; what names the operation in an error.
func (c *Client) send(ctx context.Context, what string, o outgoing) error {
	select {
	case c.out <- o:
		return nil
	case <-c.broken:
		return fmt.Errorf("%s: %w", what, c.failure())
	case <-ctx.Done():
		return c.silent(what, context.Cause(ctx))
	}
}

// grant lets the agent send n more bytes of a stream. It never blocks.
func (c *Client) grant(id uint32, stream byte, n int) {
	if n == 0 {
		return
	}
	c.mu.Lock()
	c.window = appendWindow(c.window, id, stream, n)
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// silent returns the error of a call that was abandoned.
func (c *Client) silent(what string, cause error) error {
	quiet := time.Duration(clock.Now() - c.heard.Load()).Round(time.Millisecond)
	return fmt.Errorf("%s: waiting for the agent, which said nothing for %s: %w", what, quiet, cause)
}

// reply is the answer to a call.
type reply struct {
	payload []byte
	at      int64 // clock.Now when it arrived
	err     error
}

// call is an operation with one answer.
type call struct {
	what  string
	sent  atomic.Int64 // clock.Now right before the request was written
	reply chan reply
}

func newCall(what string) *call { return &call{what: what, reply: make(chan reply, 1)} }

func (k *call) receive(f frame, at int64) (bool, error) {
	switch f.kind {
	case typeReply, typeBye:
		k.reply <- reply{payload: append([]byte(nil), f.payload...), at: at}
	case typeError:
		k.reply <- reply{err: remoteError(k.what, f)}
	default:
		return true, fmt.Errorf("%s: unexpected frame %q", k.what, f.kind)
	}
	return true, nil
}

// ask sends a request and waits for its answer.
func (c *Client) ask(ctx context.Context, k *call, kind byte, payload []byte) (reply, error) {
	id := c.register(k)
	if err := c.send(ctx, k.what, outgoing{data: appendFrame(nil, kind, id, payload), sent: &k.sent}); err != nil {
		c.forget(id)
		return reply{}, err
	}
	return c.await(ctx, k, id)
}

// await waits for the answer to a request that was sent.
func (c *Client) await(ctx context.Context, k *call, id uint32) (reply, error) {
	select {
	case r := <-k.reply:
		return r, r.err
	case <-c.broken:
	case <-ctx.Done():
		c.forget(id)
		return reply{}, c.silent(k.what, context.Cause(ctx))
	}
	select {
	case r := <-k.reply:
		return r, r.err
	default:
		return reply{}, fmt.Errorf("%s: %w", k.what, c.failure())
	}
}

// remoteError returns the agent's error about an operation.
func remoteError(what string, f frame) error {
	var e errorReply
	if err := json.Unmarshal(f.payload, &e); err != nil {
		return fmt.Errorf("%s: error frame %.80q: %w", what, f.payload, err)
	}
	e.Message, e.Hint = shortened(e.Message), shortened(e.Hint)
	if e.Hint != "" {
		return fmt.Errorf("%s: %s%w", what, e.Message, bench.Hint(e.Hint))
	}
	return fmt.Errorf("%s: %s", what, e.Message)
}

// maxWords is how much of an agent's text is kept, in bytes.
const maxWords = 4 << 10

// shortened cuts a longer text between two characters.
func shortened(s string) string {
	if len(s) <= maxWords {
		return s
	}
	return strings.ToValidUTF8(s[:maxWords], "") + " and so on"
}

var errClosed = errors.New("the client was closed")

// Close says bye and closes the stream. On bye the agent ends every command and itself (a virtual
// machine powers off). Close waits at most 2 s for the agent's answer. An agent that is already
// gone is not an error.
func (c *Client) Close() error {
	c.mu.Lock()
	again := c.closed
	c.closed = true
	c.mu.Unlock()
	if again {
		return nil
	}
	if c.failure() == nil {
		ctx, cancel := context.WithTimeout(context.Background(), min(byeTimeout, c.patience))
		_, _ = c.ask(ctx, newCall("bye"), typeBye, nil) // it may be silent or gone: closing the stream ends it too
		cancel()
	}
	c.fail(errClosed)
	if err := c.hang(); err != nil {
		return fmt.Errorf("agent: close the stream: %w", err)
	}
	return nil
}
