package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tare/internal/bench"
	"tare/internal/host/clock"
)

// errApart: subjects began and ended at such different times that nothing was
// measured of all of them.
var errApart = errors.New("do not overlap")

// measurement runs the subjects' main commands and finds the window they have in common.
type measurement struct {
	account  *account
	subjects cast
	edge     func(at int64) // reads the counters at an edge of the window
	// during, if set, is called beside and ends with ctx; opened is closed once the window is open.
	during func(ctx context.Context, opened <-chan struct{})
}

// run runs every subject's main command at once. The window is the
// stretch during which all of them were in theirs; counters are read at its edges.
// That there is none is an error, [errApart].
func (m *measurement) run(ctx context.Context) ([2]int64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := &window{subjects: len(m.subjects), read: m.edge, isOpen: make(chan struct{})}
	beside, stop := context.WithCancel(ctx)
	var probes sync.WaitGroup
	if m.during != nil {
		probes.Go(func() { m.during(beside, w.isOpen) })
	}
	err := m.subjects.each(func(a *actor) error {
		err := m.of(ctx, a, w)
		if err != nil {
			cancel(fmt.Errorf("another subject failed: %w", err))
		}
		return err
	})
	stop()
	probes.Wait()
	if err == nil && w.edges[1] <= w.edges[0] {
		err = fmt.Errorf("the measured windows of %d subjects %w", w.subjects, errApart)
	}
	return w.edges, err
}

// of runs one subject's main command, and opens and closes the window for it.
func (m *measurement) of(ctx context.Context, a *actor, w *window) error {
	c := a.part.Main
	a.outcome.Command, a.outcome.Polls = c.Argv, a.part.Polls
	// Without a ramp or a marker the window opens just before the command starts.
	if a.part.Ramp == 0 && a.part.Begin == "" {
		w.open()
	}
	watch := markers{begin: []byte(a.part.Begin), end: []byte(a.part.End), ended: make(chan struct{})}
	watch.onBegin = w.open
	var err error
	if a.main, err = a.client.Start(ctx, c, watch.feed); err != nil {
		return fmt.Errorf("start %v in %s: %w", c.Argv, a.Name, a.advise(err))
	}
	if a.part.Ramp > 0 {
		timer := time.AfterFunc(time.Duration(a.main.Started()+int64(a.part.Ramp)-clock.Now()), w.open)
		defer timer.Stop()
	}
	var ended <-chan struct{}
	if a.part.End != "" {
		ended = watch.ended
	}
	type result struct {
		out bench.Output
		err error
	}
	finished := make(chan result, 1)
	go func() {
		out, err := a.main.Wait(ctx)
		finished <- result{out, err}
	}()
	var r result
	stopped := false
	select {
	case r = <-finished:
		w.close()
	case <-ended:
		w.close()
		stopped = true
		if !a.part.GoesOn {
			if err := a.main.Kill(ctx); err != nil {
				return fmt.Errorf("stop %v in %s: %w", c.Argv, a.Name, err)
			}
		}
		r = <-finished
	}
	a.ended = a.main.Started() + int64(r.out.Wall)
	a.main = nil
	if r.err != nil {
		return fmt.Errorf("run %v in %s: %w", c.Argv, a.Name, r.err)
	}
	a.outcome.Output = &r.out
	m.account.keepOutput(a, r.out)
	if stopped && !a.part.GoesOn {
		return nil
	}
	if a.part.End != "" && !stopped && !r.out.TimedOut {
		return ofItself(r.out, fmt.Errorf("run %v in %s: it ended without printing %q: %s", c.Argv, a.Name, a.part.End, tail(r.out, 600)))
	}
	return checkExit("run in "+a.Name, c, r.out, a.part.OKExit)
}

// window is the stretch in which every subject is being measured: from the last
// to open until the first to close.
type window struct {
	mu             sync.Mutex
	subjects       int
	opened, closed int
	edges          [2]int64
	read           func(at int64)
	isOpen         chan struct{} // closed once the first edge was read
}

func (w *window) open() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.opened++; w.opened == w.subjects && w.closed == 0 {
		w.edges[0] = clock.Now()
		w.read(w.edges[0])
		close(w.isOpen)
	}
}

func (w *window) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed++; w.closed == 1 && w.opened == w.subjects {
		w.edges[1] = clock.Now()
		w.read(w.edges[1])
	}
}

// markers looks for texts in a command's output as it comes.
type markers struct {
	begin, end []byte
	onBegin    func()
	ended      chan struct{}
	began      bool
	done       bool
	other      []byte // the end of what was seen, in case a text is cut in two
}

func (m *markers) feed(b []byte) {
	if m.done || len(m.begin)+len(m.end) == 0 {
		return
	}
	m.other = append(m.other, b...)
	if !m.began && len(m.begin) > 0 {
		i := bytes.Index(m.other, m.begin)
		if i < 0 {
			m.keep(len(m.begin))
			return
		}
		m.began = true
		m.other = m.other[i+len(m.begin):]
		m.onBegin()
	}
	if len(m.end) > 0 && bytes.Contains(m.other, m.end) {
		m.done = true
		close(m.ended)
		return
	}
	m.keep(len(m.end))
}

// keep holds on to the last bytes that may be the beginning of a text of n bytes.
func (m *markers) keep(n int) {
	if len(m.other) > n {
		m.other = append(m.other[:0], m.other[len(m.other)-n:]...)
	}
}
