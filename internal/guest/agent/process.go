package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"tare/internal/bench"
)

// exitGrace is how long after a command's timeout the agent may report its end. After that the
// agent counts as dead.
const exitGrace = 15 * time.Second

// Process is a command running inside the instance.
type Process struct {
	c        *Client
	id       uint32
	what     string // for errors
	timeout  time.Duration
	sent     atomic.Int64
	started  int64
	ended    int64
	pid      int
	onStdout func([]byte)
	inbox    *inbox  // what onStdout has yet to see; nil without onStdout
	stdin    *credit // how much of standard input may be sent
	ack      chan struct{}
	over     chan struct{} // closed after the exit, or an error
	exit     chan struct{} // closed when everything is known and onStdout has seen it all
	granted  [3]grants

	mu     sync.Mutex
	err    error
	output bench.Output
}

// Exec runs a command to its end. A non-zero exit is not an error. A missing program is an error.
// When ctx ends first the command is killed. With an error, Output holds what was printed until
// then.
func (c *Client) Exec(ctx context.Context, cmd bench.Command) (bench.Output, error) {
	p, err := c.Start(ctx, cmd, nil)
	if err != nil {
		return bench.Output{}, err
	}
	out, err := p.Wait(ctx)
	if err != nil {
		p.abandon()
	}
	return out, err
}

// Start starts a command and returns once the agent has acknowledged it.
// onStdout, if not nil, is called with each piece of the standard output in
// turn, on one goroutine; a slow one makes the command wait.
func (c *Client) Start(ctx context.Context, cmd bench.Command, onStdout func([]byte)) (*Process, error) {
	if len(cmd.Argv) == 0 || cmd.Argv[0] == "" {
		return nil, fmt.Errorf("exec: no program given: %w", bench.ErrInvalid)
	}
	what := fmt.Sprintf("exec %s", filepath.Base(cmd.Argv[0]))
	if len(cmd.Stdin) > MaxStdin {
		return nil, fmt.Errorf("%s: standard input of %d bytes is more than %d: %w", what, len(cmd.Stdin), MaxStdin, bench.ErrInvalid)
	}
	p := &Process{c: c, what: what, timeout: cmd.Timeout, onStdout: onStdout, stdin: newCredit(window),
		ack: make(chan struct{}), over: make(chan struct{}), exit: make(chan struct{})}
	if onStdout != nil {
		p.inbox = newInbox()
	}
	p.id = c.register(p)
	go p.deliver()
	request := execRequest{Argv: cmd.Argv, Env: c.env(cmd), Dir: cmd.Dir, User: cmd.User, Stdin: len(cmd.Stdin), Timeout: cmd.Timeout, Bare: cmd.Bare}
	data := appendJSON(nil, typeExec, p.id, request)
	if len(data) > maxFrame {
		c.forget(p.id)
		p.finish(errors.New("given up"))
		return nil, fmt.Errorf("%s: arguments and environment of %d bytes are too long: %w", what, len(data), bench.ErrInvalid)
	}
	err := c.send(ctx, what, outgoing{data: data, sent: &p.sent})
	if err == nil {
		err = c.stream(ctx, what, p.id, cmd.Stdin, p.stdin, p.over)
	}
	if err == nil {
		err = p.acknowledged(ctx)
	}
	if err != nil {
		p.abandon()
		return nil, err
	}
	return p, nil
}

// env is what a command adds to its environment, and the mark.
func (c *Client) env(cmd bench.Command) map[string]string {
	if c.mark == "" {
		return cmd.Env
	}
	env := map[string]string{bench.ProcessMark: c.mark}
	maps.Copy(env, cmd.Env)
	return env
}

// acknowledged waits until the command runs or could not be started.
func (p *Process) acknowledged(ctx context.Context) error {
	select {
	case <-p.ack:
		return nil
	case <-p.over:
	case <-p.c.broken:
		return fmt.Errorf("%s: %w", p.what, p.c.failure())
	case <-ctx.Done():
		return p.c.silent(p.what+": start", context.Cause(ctx))
	}
	select {
	case <-p.ack:
		return nil
	default:
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.err
	}
}

// Started is when the agent's acknowledgement of the start arrived, in
// nanoseconds of the host's CLOCK_MONOTONIC.
func (p *Process) Started() int64 { return p.started }

// Requested is when the request was written, and Ended when the agent's word of
// the end arrived, by the same clock; known once Wait has returned.
func (p *Process) Requested() int64 { return p.sent.Load() }

// Ended: see Requested.
func (p *Process) Ended() int64 { return p.ended }

// PID is the command's process id in the instance's own PID namespace.
func (p *Process) PID() int { return p.pid }

// receive implements receiver.
func (p *Process) receive(f frame, at int64) (bool, error) {
	switch f.kind {
	case typeStarted:
		var r startedReply
		if err := f.decode(&r); err != nil {
			return true, err
		}
		if p.pid != 0 || r.PID <= 0 {
			return true, fmt.Errorf("%s: started twice, or as process %d", p.what, r.PID)
		}
		p.started, p.pid = at, r.PID
		close(p.ack)
	case typeStdout:
		p.keep(&p.output.Stdout, f.payload)
		if p.inbox != nil {
			return false, p.inbox.push(f.payload)
		}
		p.c.grant(p.id, streamOut, p.granted[streamOut].add(len(f.payload)))
	case typeStderr:
		p.keep(&p.output.Stderr, f.payload)
		p.c.grant(p.id, streamErr, p.granted[streamErr].add(len(f.payload)))
	case typeWindow:
		_, n, err := parseWindow(f.payload)
		if err != nil {
			return true, err
		}
		p.stdin.add(n)
	case typeExit:
		var r exitReply
		if err := f.decode(&r); err != nil {
			return true, err
		}
		if p.pid == 0 {
			return true, fmt.Errorf("%s: ended without having started", p.what)
		}
		if r.Exit < 0 || r.Exit > 255 || len(r.Signal) > maxWords || min(r.Wall, r.User, r.System) < 0 || max(r.Wall, r.User, r.System) > bench.MaxInstant {
			return true, fmt.Errorf("%s: ended with status %d after %d ns, %d of a user's and %d of the system's, which cannot be", p.what, r.Exit, r.Wall, r.User, r.System)
		}
		p.ended = at
		p.mu.Lock()
		p.output.Exit, p.output.Signal, p.output.TimedOut = r.Exit, r.Signal, r.TimedOut
		p.output.Wall, p.output.User, p.output.System = r.Wall, r.User, r.System
		p.mu.Unlock()
		p.finish(nil)
		return true, nil
	case typeError:
		p.finish(remoteError(p.what, f))
		return true, nil
	default:
		return true, fmt.Errorf("%s: unexpected frame %q", p.what, f.kind)
	}
	return false, nil
}

// keep appends to one of the outputs what there is room for.
func (p *Process) keep(to *[]byte, data []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	room := MaxOutput - len(*to)
	if len(data) > room {
		data = data[:room]
		p.output.Truncated = true
	}
	*to = append(*to, data...)
}

// finish records the end. It is called once.
func (p *Process) finish(err error) {
	p.mu.Lock()
	p.err = err
	p.mu.Unlock()
	if p.inbox != nil {
		p.inbox.end(nil)
	}
	close(p.over)
}

// deliver calls onStdout until the end.
func (p *Process) deliver() {
	defer close(p.exit)
	var g grants
	for p.inbox != nil {
		data, err := p.inbox.pop(p.c.broken)
		if err != nil {
			break
		}
		p.onStdout(data)
		p.inbox.done(len(data))
		p.c.grant(p.id, streamOut, g.add(len(data)))
	}
	select {
	case <-p.over:
	case <-p.c.broken:
	}
}

// Wait waits for the command's end and returns its output. It fails if the agent has not reported
// the end within exitGrace after the command's timeout.
func (p *Process) Wait(ctx context.Context) (bench.Output, error) {
	if p.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, p.timeout+exitGrace,
			fmt.Errorf("the command's timeout of %s is long over: %w", p.timeout, context.DeadlineExceeded))
		defer cancel()
	}
	var err error
	select {
	case <-p.exit:
		select {
		case <-p.over:
			p.mu.Lock()
			err = p.err
			p.mu.Unlock()
		default:
			err = fmt.Errorf("%s: %w", p.what, p.c.failure())
		}
	case <-ctx.Done():
		err = p.c.silent(p.what+": exit", context.Cause(ctx))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output, err
}

// Kill kills the command and all its descendants, and returns once they are dead.
func (p *Process) Kill(ctx context.Context) error {
	k := newCall(p.what + ": kill")
	id := p.c.register(k)
	if err := p.c.send(ctx, k.what, outgoing{data: appendJSON(nil, typeKill, id, killRequest{Exec: p.id})}); err != nil {
		p.c.forget(id)
		return err
	}
	_, err := p.c.await(ctx, k, id)
	return err
}

// abandon kills a command nobody waits for any more, if the agent still listens.
func (p *Process) abandon() {
	select {
	case <-p.over:
	case <-p.c.broken:
	default:
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), exitGrace)
			defer cancel()
			_ = p.Kill(ctx) // the error that led here is the one reported
		}()
	}
}
