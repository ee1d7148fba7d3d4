package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"tare/internal/app/session"
	"tare/internal/bench"
	"tare/internal/bench/figure"
	"tare/internal/report"
	"tare/internal/run"
)

// progress shows a run as it goes on: on a terminal a few lines drawn anew, what
// runs now, how much is done, the time left and the latest effects; elsewhere a
// plain line for each trial, and if verbose one for each of its phases.
type progress struct {
	mu      sync.Mutex
	w       io.Writer // plain
	screen  io.Writer // the same, for what moves the cursor
	width   int       // of the terminal; 0 where there is none
	verbose bool
	tally   *session.Tally
	digits  int // of the number of trials
	started time.Time
	waits   string // what the run waits for; "" if it does not
	told    bool   // that it waits, before this block
	block   int    // of the latest trial
	drawn   int    // lines on the screen to draw over
	stop    chan struct{}
}

func newProgress(w io.Writer, tally *session.Tally, p *bench.Plan, verbose bool) *progress {
	g := &progress{w: report.Plain(w), screen: w, verbose: verbose, tally: tally,
		digits: len(fmt.Sprint(len(p.Trials))), started: time.Now(), stop: make(chan struct{})}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			g.width = width
			go g.redraw()
		}
	}
	return g
}

// redraw keeps the clock on the screen going.
func (g *progress) redraw() {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-g.stop:
			return
		case <-t.C:
			g.mu.Lock()
			g.draw()
			g.mu.Unlock()
		}
	}
}

// notify takes an event of the run.
func (g *progress) notify(e run.Event) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if e.Outcome == nil && e.Waits == "" && e.Ended == "" && e.Trial.Block > g.block {
		if said := g.tally.Standing(g.block); said != "" && g.width == 0 {
			fmt.Fprintln(g.w, said)
		}
		g.block = e.Trial.Block
	}
	result := g.tally.Take(e)
	switch {
	case e.Waits != "":
		g.wait(e.Waits)
	case e.Ended != "" && g.verbose:
		g.line(fmt.Sprintf("%s: ended after %s", e.Ended, figure.Count(e.Trial.Block, "block")))
	case e.Outcome == nil:
		g.waits, g.told = "", false
		if !g.verbose {
			break
		}
		g.erase()
		fmt.Fprintf(g.w, "%s %s: %s\n", e.Trial.ID, e.Scene.ID, e.Phase)
	case e.Outcome != nil:
		line := fmt.Sprintf("%*d/%s  %-26s %s", g.digits, g.tally.Done, g.total(), e.Scene.ID, result)
		if g.width == 0 {
			fmt.Fprintf(g.w, "%s  (%.1f s, %s left)\n", line, g.tally.Took.Seconds(), g.left())
		} else if e.Outcome.Status != bench.Done || e.Again {
			g.line(line)
		}
	}
	g.draw()
}

// wait shows what the run waits for: on a terminal anew each time, elsewhere once before a block.
func (g *progress) wait(what string) {
	g.waits = what
	if g.width == 0 && !g.told {
		g.told = true
		fmt.Fprintln(g.w, what)
	}
}

// line prints a line that stays.
func (g *progress) line(text string) {
	g.erase()
	fmt.Fprintln(g.w, clip(text, g.width))
}

func (g *progress) total() string { return g.tally.Bound() + fmt.Sprint(g.tally.Trials()) }

func (g *progress) left() string { return g.tally.Bound() + fmt.Sprint(round(g.tally.Left())) }

func (g *progress) draw() {
	if g.width == 0 {
		return
	}
	g.erase()
	const bar = 24
	t := g.tally
	full := min(bar, bar*t.Done/max(1, t.Trials()))
	failed := ""
	if t.Failed > 0 {
		failed = fmt.Sprintf(", %d failed", t.Failed)
	}
	lines := []string{fmt.Sprintf("[%s%s] %d/%s trials, %s left, %s so far%s",
		strings.Repeat("#", full), strings.Repeat(".", bar-full), t.Done, g.total(), g.left(), round(time.Since(g.started)), failed)}
	switch {
	case g.waits != "":
		lines = append(lines, g.waits)
	case t.Now.Scene != nil:
		lines = append(lines, fmt.Sprintf("now: %s, block %d: %s (%s)", t.Now.Scene.ID, t.Now.Trial.Block, t.Now.Phase,
			round(time.Since(t.TrialAt))))
	}
	if said := t.Standing(g.block - 1); said != "" {
		lines = append(lines, said)
	}
	lines = append(lines, t.Effects()...)
	for _, l := range lines {
		fmt.Fprintln(g.w, clip(l, g.width))
	}
	g.drawn = len(lines)
}

func (g *progress) erase() {
	if g.drawn > 0 {
		fmt.Fprintf(g.screen, "\x1b[%dA\x1b[J", g.drawn)
		g.drawn = 0
	}
}

// close leaves the screen to what is printed next.
func (g *progress) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.stop)
	g.erase()
	if said := g.tally.Standing(g.block); said != "" && g.tally.Through(g.block) {
		fmt.Fprintln(g.w, said)
	}
	g.width = 0
}

func clip(s string, width int) string {
	if r := []rune(s); len(r) >= width && width > 1 {
		return string(r[:width-1])
	}
	return s
}

func round(d time.Duration) time.Duration { return d.Round(time.Second) }
