package agent

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"tare/internal/host/clock"
)

// Options says how an agent serves.
type Options struct {
	// OwnKernel: the instance has a kernel of its own, so that kernel is sampled
	// rather than the agent's descendants.
	OwnKernel bool
	// Dedicated: the process serves only the agent. It then resets its nice value, adopts orphaned
	// descendants (PR_SET_CHILD_SUBREAPER) and reaps every child; without it, a command's
	// daemonised children escape.
	Dedicated bool
	// Began is when the process ran its first instruction, by [clock.Now]; 0 if that is not known.
	Began int64
}

// maxOperations bounds the commands and uploads under way at once.
const maxOperations = 1024

// server is one stream's agent.
type server struct {
	opts    Options
	serving int64 // when Serve was called
	greeted int64 // right before the greeting was written
	reaper  *reaper
	forker  *forker
	sampler sampler
	columns []string
	values  []float64
	reserve func() // reserveThreads, once
	reply   []byte // reused by answers sent from the reading goroutine

	wmu sync.Mutex
	w   io.Writer

	mu       sync.Mutex
	commands map[uint32]*command
	inboxes  map[uint32]*inbox // standard inputs and uploads being received
	gone     chan struct{}     // closed when the stream is no longer usable
	cause    error
}

// Serve greets on w and carries out what the client asks for on r, until it
// says bye, r ends or ctx does; then it kills every command with all its
// descendants. Bye and the end of r are not errors. A read of r, or a write to w
// that the client does not take, may still be under way when Serve returns, until
// the caller closes them.
func Serve(ctx context.Context, r io.Reader, w io.Writer, opts Options) error {
	s := &server{opts: opts, serving: clock.Now(), w: w, commands: map[uint32]*command{}, inboxes: map[uint32]*inbox{}, gone: make(chan struct{}), reserve: func() {}}
	if opts.Dedicated {
		if err := dedicate(opts.OwnKernel); err != nil {
			return err
		}
		s.reserve = sync.OnceFunc(reserveThreads)
	}
	s.reaper = newReaper(opts.Dedicated)
	defer s.reaper.stop()
	s.forker = newForker()
	defer s.forker.stop()
	if opts.OwnKernel {
		s.sampler = newKernelSampler("/")
	} else {
		s.sampler = newTreeSampler(s.reaper)
	}
	defer s.sampler.close()
	s.columns = s.sampler.columns()
	s.values = make([]float64, len(s.columns))

	greeting := appendJSON([]byte(magic), typeHello, 0, s.hello())
	s.greeted = clock.Now()
	if _, err := w.Write(greeting); err != nil {
		return fmt.Errorf("agent: greet: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.read(r) }()
	var err error
	select {
	case err = <-ended:
	case <-s.gone:
		err = s.cause
	case <-ctx.Done():
		err = ctx.Err()
	}
	var bye byeError
	said := errors.As(err, &bye)
	if said || err == io.EOF {
		err = nil
	}
	s.leave(nil)
	if killed := s.killAll(); err == nil {
		err = killed
	}
	if said {
		s.wmu.Lock()
		defer s.wmu.Unlock()
		if _, err := w.Write(appendFrame(nil, typeBye, bye.id, nil)); err != nil {
			return fmt.Errorf("agent: answer the bye: %w", err)
		}
	}
	if err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	return nil
}

// byeError ends the reading of a stream whose client has said bye.
type byeError struct{ id uint32 }

func (byeError) Error() string { return "the client said bye" }

// read answers frames until the stream ends.
func (s *server) read(r io.Reader) error {
	src := &stampedReader{r: r}
	buffered := bufio.NewReaderSize(src, 2*maxData)
	if _, err := awaitMagic(buffered, src, new(noiseLog)); err != nil {
		return err
	}
	frames := &frameReader{r: buffered}
	f, err := frames.next()
	if err != nil {
		return err
	}
	var chosen clientHello
	if f.kind != typeHello {
		return s.refuse(fmt.Errorf("first frame is %q: want a hello", f.kind))
	}
	if err := f.decode(&chosen); err != nil {
		return s.refuse(err)
	}
	if chosen.Version < MinVersion || chosen.Version > Version {
		return s.refuse(fmt.Errorf("the client chose protocol version %d: this agent speaks %d to %d", chosen.Version, MinVersion, Version))
	}
	for {
		f, err := frames.next()
		if err == io.EOF {
			return err
		}
		if err != nil {
			return s.refuse(err)
		}
		if f.kind == typeBye {
			return byeError{f.id}
		}
		if err := s.handle(f, src.at); err != nil {
			return s.refuse(err)
		}
	}
}

// refuse tells the client why the stream ends.
func (s *server) refuse(err error) error {
	s.sendError(0, err)
	return err
}

// handle carries out one frame. It does not block, except on writing answers:
// the client always reads. An error ends the stream.
func (s *server) handle(f frame, at int64) error {
	if f.id == 0 {
		return fmt.Errorf("frame %q with id 0", f.kind)
	}
	switch f.kind {
	case typeClock:
		s.reply = appendFrame(s.reply[:0], typeReply, f.id, make([]byte, 16))
		stamps := s.reply[headerSize:]
		binary.BigEndian.PutUint64(stamps, uint64(at))
		binary.BigEndian.PutUint64(stamps[8:], uint64(clock.Now()))
		s.send(s.reply)
	case typeSample:
		s.sampler.sample(s.values)
		s.reply = appendFrame(s.reply[:0], typeReply, f.id, nil)
		s.reply = appendSample(s.reply, clock.Now(), s.values)
		putHeader(s.reply, typeReply, f.id, len(s.reply)-headerSize)
		s.send(s.reply)
	case typeFacts:
		var q FactsRequest
		if err := f.decode(&q); err != nil {
			return err
		}
		go s.facts(f.id, q)
	case typeExec:
		var r execRequest
		if err := f.decode(&r); err != nil {
			return err
		}
		return s.exec(f.id, r)
	case typeKill:
		var r killRequest
		if err := f.decode(&r); err != nil {
			return err
		}
		go s.answer(f.id, func() error { return s.kill(r.Exec) })
	case typePut:
		var r putRequest
		if err := f.decode(&r); err != nil {
			return err
		}
		return s.put(f.id, r)
	case typeData:
		if b := s.inbox(f.id); b != nil {
			if err := b.push(f.payload); err != nil {
				return fmt.Errorf("operation %d: %w", f.id, err)
			}
		}
	case typeEnd:
		if b := s.inbox(f.id); b != nil {
			var why error
			if len(f.payload) > 0 {
				why = fmt.Errorf("%.200s", f.payload)
			}
			b.end(why)
		}
	case typeWindow:
		stream, n, err := parseWindow(f.payload)
		if err != nil {
			return err
		}
		s.mu.Lock()
		c := s.commands[f.id]
		s.mu.Unlock()
		if c != nil && stream != streamIn {
			c.credit[stream].add(n)
		}
	default:
		s.sendError(f.id, fmt.Errorf("unknown frame type %q: this agent speaks protocol version %d", f.kind, Version))
	}
	return nil
}

// answer sends what became of an operation that has no other result.
func (s *server) answer(id uint32, do func() error) {
	if err := do(); err != nil {
		s.sendError(id, err)
		return
	}
	s.send(appendFrame(nil, typeReply, id, nil))
}

// send writes whole frames, unless the stream is of no more use. An error ends the stream.
func (s *server) send(b []byte) {
	s.wmu.Lock()
	defer s.wmu.Unlock()
	select {
	case <-s.gone:
		return
	default:
	}
	if _, err := s.w.Write(b); err != nil {
		s.leave(fmt.Errorf("write to the client: %w", err))
	}
}

func (s *server) inbox(id uint32) *inbox {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inboxes[id]
}

// leave marks the stream as of no more use.
func (s *server) leave(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.gone:
	default:
		s.cause = cause
		close(s.gone)
	}
}
