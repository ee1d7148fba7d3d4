package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"tare/internal/bench"
	"tare/internal/figure"
	"tare/internal/report"
	"tare/internal/run"
)

// progress shows a run as it goes on: on a terminal a few lines drawn anew, what
// runs now, how much is done, the time left and the latest effects; elsewhere a
// plain line for each trial, and if verbose one for each of its phases.
type progress struct {
	mu       sync.Mutex
	w        io.Writer // plain
	screen   io.Writer // the same, for what moves the cursor
	width    int       // of the terminal; 0 where there is none
	verbose  bool
	plan     *bench.Plan
	started  time.Time
	done     int
	failed   int
	cases    map[string]string // by scene
	next     int               // place in the plan of the first trial not begun
	ended    map[string]int    // blocks of the scenes whose stopping rule ended them
	drawn    int               // lines on the screen to draw over
	now      run.Event
	took     map[string][]time.Duration // of finished trials, by scene
	trialAt  time.Time
	values   map[string]map[int]float64 // headline value by scene and block
	headline map[string]bench.Metric    // by case
	stop     chan struct{}
}

func newProgress(w io.Writer, p *bench.Plan, finished int, verbose bool) *progress {
	g := &progress{
		w: report.Plain(w), screen: w, verbose: verbose, plan: p, started: time.Now(), done: finished, next: finished, ended: map[string]int{}, cases: map[string]string{},
		took: map[string][]time.Duration{}, values: map[string]map[int]float64{},
		headline: map[string]bench.Metric{}, stop: make(chan struct{}),
	}
	for _, s := range p.Scenes {
		g.cases[s.ID] = s.Case
	}
	for name, ms := range p.Metrics {
		for _, m := range ms {
			if _, ok := g.headline[name]; m.Headline || !ok {
				g.headline[name] = m
			}
			if m.Headline {
				break
			}
		}
	}
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
	if e.Ended != "" {
		g.ended[e.Ended] = e.Trial.Block
		g.erase()
		fmt.Fprintln(g.w, clip(fmt.Sprintf("%s: ended after %s", e.Ended, figure.Count(e.Trial.Block, "block")), g.width))
		g.draw()
		return
	}
	if e.Outcome == nil {
		if g.now.Trial.ID != e.Trial.ID {
			g.trialAt = time.Now()
		}
		g.now = e
		if g.verbose {
			g.erase()
			fmt.Fprintf(g.w, "%s %s: %s\n", e.Trial.ID, e.Scene.ID, e.Phase)
		}
		g.draw()
		return
	}
	g.done++
	g.next = e.Index + 1
	took := time.Since(g.trialAt)
	if e.Outcome.GivenUp != "" {
		took = 0
	}
	g.took[e.Scene.ID] = append(g.took[e.Scene.ID], took)
	result := g.record(e)
	switch e.Outcome.Status {
	case bench.Done:
	case bench.Aborted: // why the run ends is said at its end
		result = "stopped in " + string(e.Outcome.Phase)
	default:
		if e.Outcome.Status == bench.Failed { // others are results
			g.failed++
		}
		result = fmt.Sprintf("%s in %s: %s", e.Outcome.Status, e.Outcome.Phase, firstLine(e.Outcome.Error))
	}
	line := fmt.Sprintf("%*d/%s  %-26s %s", len(fmt.Sprint(len(g.plan.Trials))), g.done, g.total(), e.Scene.ID, result)
	if g.width == 0 {
		fmt.Fprintf(g.w, "%s  (%.1f s, %s%s left)\n", line, took.Seconds(), g.bound(), round(g.left()))
		return
	}
	if e.Outcome.Status != bench.Done {
		g.erase()
		fmt.Fprintln(g.w, clip(line, g.width))
	}
	g.draw()
}

// record keeps the scene's headline value and says it.
func (g *progress) record(e run.Event) string {
	m, ok := g.headline[e.Scene.Case]
	if !ok {
		return "done"
	}
	for _, v := range e.Outcome.Values {
		if v.Metric == m.Name {
			if g.values[e.Scene.ID] == nil {
				g.values[e.Scene.ID] = map[int]float64{}
			}
			g.values[e.Scene.ID][e.Trial.Block] = v.Value
			return fmt.Sprintf("%s %.4g %s", m.Name, v.Value, m.Unit)
		}
	}
	return "done"
}

// needed reports whether a trial is, as far as is known.
func (g *progress) needed(t bench.Trial) bool {
	blocks, ended := g.ended[t.Scene]
	return !ended || t.Block <= blocks
}

// bound is "≤" while a stopping rule may still make trials unnecessary.
func (g *progress) bound() string {
	if g.plan.Until == nil {
		return ""
	}
	for scene := range g.cases {
		if _, ended := g.ended[scene]; !ended {
			return "≤"
		}
	}
	return ""
}

// trials is how many are needed, or at most.
func (g *progress) trials() int {
	n := 0
	for _, t := range g.plan.Trials {
		if g.needed(t) {
			n++
		}
	}
	return n
}

func (g *progress) total() string { return g.bound() + fmt.Sprint(g.trials()) }

// left estimates the time to the end from what like trials took so far, and
// from the plan where there were none.
func (g *progress) left() time.Duration {
	var sum time.Duration
	perTrial := time.Duration(g.plan.Estimate / float64(max(1, len(g.plan.Trials))) * float64(time.Second))
	for _, t := range g.plan.Trials[min(g.next, len(g.plan.Trials)):] {
		if !g.needed(t) {
			continue
		}
		took := g.took[t.Scene]
		if len(took) == 0 {
			sum += perTrial
			continue
		}
		var s time.Duration
		for _, d := range took {
			s += d
		}
		sum += s / time.Duration(len(took))
	}
	return sum
}

func (g *progress) draw() {
	if g.width == 0 {
		return
	}
	g.erase()
	lines := []string{}
	bar := 24
	full := min(bar, bar*g.done/max(1, g.trials()))
	lines = append(lines, fmt.Sprintf("[%s%s] %d/%s trials, %s%s left, %s so far%s",
		strings.Repeat("#", full), strings.Repeat(".", bar-full), g.done, g.total(),
		g.bound(), round(g.left()), round(time.Since(g.started)), failures(g.failed)))
	if g.now.Scene != nil {
		lines = append(lines, fmt.Sprintf("now: %s, block %d: %s (%s)", g.now.Scene.ID, g.now.Trial.Block, g.now.Phase,
			round(time.Since(g.trialAt))))
	}
	lines = append(lines, g.effects()...)
	for _, l := range lines {
		fmt.Fprintln(g.w, clip(l, g.width))
	}
	g.drawn = len(lines)
}

// effects are the ratios to the baseline so far, a line per case: the geometric
// mean over the blocks both finished, without an interval.
func (g *progress) effects() []string {
	byCase := map[string][]string{}
	var order []string
	for _, s := range g.plan.Scenes {
		if s.Platform.String() == g.plan.Baseline {
			continue
		}
		base := g.values[s.Case+"/"+g.plan.Baseline]
		sum, n := 0.0, 0
		for block, v := range g.values[s.ID] {
			if b, ok := base[block]; ok && b > 0 && v > 0 {
				sum += math.Log(v / b)
				n++
			}
		}
		if n == 0 {
			continue
		}
		if byCase[s.Case] == nil {
			order = append(order, s.Case)
		}
		byCase[s.Case] = append(byCase[s.Case], fmt.Sprintf("%s %.3fx", s.Platform, math.Exp(sum/float64(n))))
	}
	var lines []string
	for _, c := range order {
		m := g.headline[c]
		lines = append(lines, fmt.Sprintf("  %-18s %s, %s is better: %s", c, m.Name, m.Better, strings.Join(byCase[c], ", ")))
	}
	return lines
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
	g.width = 0
}

func failures(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d failed", n)
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

func clip(s string, width int) string {
	if r := []rune(s); len(r) >= width && width > 1 {
		return string(r[:width-1])
	}
	return s
}

func round(d time.Duration) time.Duration { return d.Round(time.Second) }
