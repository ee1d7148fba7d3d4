package containment

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"tare/internal/bench"
	"tare/internal/host/cgroup"
)

// Watch is a watchdog at work.
type Watch struct {
	cmd    *exec.Cmd
	orders io.WriteCloser
	host   *cgroup.FS
	groups []*Group
	ended  chan string // one word when the watchdog has killed the containments of its own accord
	last   chan said   // its report, or why there is none
}

type said struct {
	report bench.Watch
	err    error
}

// readyWithin bounds the start of a watchdog.
const readyWithin = 10 * time.Second

// yielding is what Tare's groups weigh against the rest of the host beside an
// adversary, of [cgroup.DefaultWeight]: tasks that wake and sleep ten thousand
// times a second, as those under a flood do, kept a new program from a CPU for up to
// 1.9 s at equal weights (Linux 6.18).
const yielding = 6

// Watch starts a watchdog over the containments, which it kills the time after
// [Watch.Begin]. It is at work when Watch returns, and until it is released the
// rest of the host goes first.
func (g *Guard) Watch(ctx context.Context, containments []*Group, after time.Duration) (*Watch, error) {
	host, err := cgroup.Detect()
	if err == nil {
		err = host.Weigh(yielding)
	}
	if err != nil {
		return nil, fmt.Errorf("start watchdog: %w", err)
	}
	w, err := g.watch(ctx, host, containments, after)
	if err != nil {
		return nil, fmt.Errorf("start watchdog: %w", errors.Join(err, host.Weigh(cgroup.DefaultWeight)))
	}
	return w, nil
}

func (g *Guard) watch(ctx context.Context, host *cgroup.FS, containments []*Group, after time.Duration) (*Watch, error) {
	o := order{Rules: g.Rules, Time: after}
	for _, c := range containments {
		o.Groups = append(o.Groups, c.Name())
	}
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	// Not tied to ctx: it must outlive what it watches.
	w := &Watch{cmd: exec.Command(g.Watchdog[0], g.Watchdog[1:]...), host: host, groups: containments, ended: make(chan string, 1), last: make(chan said, 1)}
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is not for it
	var complaint strings.Builder
	w.cmd.Stderr = &complaint
	if w.orders, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	ready := make(chan struct{})
	go w.listen(out, ready, &complaint)
	_, err = w.orders.Write(append(text, '\n'))
	timer := time.NewTimer(readyWithin)
	defer timer.Stop()
	if err == nil {
		select {
		case <-ready:
			return w, nil
		case s := <-w.last:
			err = s.err
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-timer.C:
			err = fmt.Errorf("not ready after %v", readyWithin)
		}
	}
	w.orders.Close()
	_ = w.cmd.Process.Kill()
	return nil, err
}

// listen reads what the watchdog says until it ends.
func (w *Watch) listen(out io.Reader, ready chan<- struct{}, complaint *strings.Builder) {
	lines := json.NewDecoder(bufio.NewReader(out))
	var last said
	reported := false
	for {
		var s word
		if err := lines.Decode(&s); err != nil {
			break
		}
		switch {
		case s.Ready:
			close(ready)
		case s.Report != nil:
			reported = true
			last.report = *s.Report
			if s.Error != "" {
				last.err = errors.New(s.Error)
			}
		case s.Ended != "":
			w.ended <- s.Ended
		case s.Overdue:
			w.ended <- ""
		}
	}
	err := w.cmd.Wait()
	if !reported {
		last.err = fmt.Errorf("the watchdog ended without a report: %w: %s", errors.Join(err, io.ErrUnexpectedEOF), strings.TrimSpace(complaint.String()))
	}
	w.last <- last
}

// Begin lets the containments' time run: everything is prepared and the adversary is
// at work.
func (w *Watch) Begin() error {
	if _, err := io.WriteString(w.orders, begin); err != nil {
		return fmt.Errorf("start the containments' time limit: %w", err)
	}
	return nil
}

// Ended receives when the watchdog has killed the containments of its own accord: why
// the host suffered, or "" when their time was over.
func (w *Watch) Ended() <-chan string { return w.ended }

// Release has the containments killed, if they are not yet, and returns how the host fared.
func (w *Watch) Release(ctx context.Context) (bench.Watch, error) {
	report, err := w.release(ctx)
	return report, errors.Join(err, w.host.Weigh(cgroup.DefaultWeight))
}

func (w *Watch) release(ctx context.Context) (bench.Watch, error) {
	_ = w.orders.Close() // which is the word to stop; a watchdog that is gone already is found out below
	select {
	case s := <-w.last:
		if s.err != nil {
			// The containments must not outlive their watchdog.
			return s.report, errors.Join(fmt.Errorf("watchdog: %w", s.err), w.killAll(ctx))
		}
		return s.report, nil
	case <-ctx.Done():
		_ = w.cmd.Process.Kill()
		return bench.Watch{}, errors.Join(fmt.Errorf("watchdog: no report: %w", context.Cause(ctx)), w.killAll(context.WithoutCancel(ctx)))
	}
}

func (w *Watch) killAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, killWithin)
	defer cancel()
	var errs []error
	for _, c := range w.groups {
		errs = append(errs, c.Kill(ctx))
	}
	return errors.Join(errs...)
}
