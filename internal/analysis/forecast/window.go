package forecast

import (
	"math"

	"tare/internal/analysis/stats"
	"tare/internal/bench/figure"
)

// A window is looked for between a part and a multiple of the planned one: beyond, nothing
// was seen. None is shorter than a second or longer than ten minutes.
const (
	shorter  = 1.0 / 10
	longer   = 20
	shortest = 1
	longest  = 600
	// worthwhile is the share of the planned window's time below which another is said.
	worthwhile = 0.9
)

// steps are the windows between 1 and 10 s that are tried, and so on for each power of ten.
var steps = []float64{1, 1.1, 1.2, 1.3, 1.5, 1.7, 2, 2.2, 2.5, 2.7, 3, 3.3, 3.7, 4, 4.5, 5, 5.5, 6, 6.5, 7, 8, 9}

// MoreWindows is what would tell how long to measure.
const MoreWindows = "earlier runs with a timing.measure at least twice as long or half as long would tell which window takes the least time"

// better looks for the window that takes the least time to the half width.
func (c *Case) better(d *caseData, least int) {
	known := 0
	for _, r := range c.Rows {
		if r.through {
			c.Why = "its program runs until it is through, whatever timing.measure says"
			return
		}
		if r.components != nil {
			known++
		}
	}
	switch {
	case known == 0:
		c.Why = MoreWindows
		return
	case known < len(c.Rows):
		c.Why = "not every row's scatter is known within and between launches: " + MoreWindows
		return
	}
	best := Better{Seconds: math.Inf(1)}
	at := func(window float64) Better {
		n, t := c.toNarrow(d.narrowing, window, least)
		return Better{Window: window, Blocks: n, Seconds: t}
	}
	for _, w := range windows(c.Window) {
		if b := at(w); b.Seconds < best.Seconds {
			best = b
		}
	}
	best.Planned = at(c.Window).Seconds
	if math.IsInf(best.Seconds, 1) {
		c.Why = "no window makes the half width likely within " + figure.Count(stats.MostNeeded, "block")
		return
	}
	if !(best.Seconds < worthwhile*best.Planned) {
		c.Why = "no other window is known to take less time by a tenth"
		return
	}
	if math.IsInf(best.Planned, 1) {
		best.Planned = 0
	}
	c.Better = &best
}

// windows are those to try around the planned one.
func windows(planned float64) []float64 {
	var all []float64
	for power := 1.0; power <= longest; power *= 10 {
		for _, s := range steps {
			if w := s * power; w >= max(shortest, planned*shorter) && w <= min(longest, planned*longer) {
				all = append(all, w)
			}
		}
	}
	return all
}

// toNarrow is how many blocks, and seconds, it takes until the intervals of all platforms are
// narrow with windows of so many seconds; infinite if one never is.
func (c *Case) toNarrow(narrowing stats.Narrowing, window float64, least int) (blocks int, took float64) {
	by := map[string]int{}
	for _, r := range c.Rows {
		n := narrowing.Blocks(math.Sqrt(r.components.Variance(window)))
		if n == 0 {
			return 0, math.Inf(1)
		}
		by[r.Platform] = max(by[r.Platform], n, least)
		blocks = max(blocks, by[r.Platform])
	}
	further := window - c.Window
	for platform, n := range by {
		took += float64(n) * (c.trial[platform] + further*float64(c.trials[platform]))
	}
	return blocks, took + float64(blocks)*(c.shared+further*float64(c.sharing))
}
