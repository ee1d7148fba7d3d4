package selftest

import (
	"fmt"
	"iter"
	"slices"

	"tare/internal/analysis/stats"
	"tare/internal/bench"
)

// replays is how many starting blocks the rule is replayed from.
const replays = 6

// Stopping is the stopping rule set against fixed numbers of blocks, replayed
// on runs that did not stop.
type Stopping struct {
	Until bench.Until `json:"until"`
	// Whole is how many blocks, of the run that has fewest, have an outcome of
	// every trial. Without as many as the rule's most nothing is replayed.
	Whole int `json:"whole_blocks"`
	// Starts are the blocks from which a replay begins. It goes round at the end
	// of the run, so only replays that end early share no block.
	Starts []int     `json:"starts"`
	Rows   []StopRow `json:"rows"`
	// Against are the fixed designs that were asked for, and the one for all rows.
	Against []Against `json:"against"`
}

// StopRow is one platform in one case. Half widths are relative to the ratio
// and medians over the replays, absent where one could not be made. Seconds are
// those of the row's and the baseline's trials, from set-up to the end of the
// pause after them; they and blocks are means over the replays.
type StopRow struct {
	Case     string   `json:"case"`
	Platform string   `json:"platform"`
	Blocks   float64  `json:"blocks"` // at which the rule ends it
	Width    *float64 `json:"half_width"`
	Seconds  float64  `json:"seconds"`
	Narrow   int      `json:"narrow"` // replays in which it came within what is wanted
	// Hindsight is the fewest blocks whose interval, with no correction for
	// looking, is as narrow as the rule's: what nobody knows beforehand. Time is
	// the rule's seconds by those.
	Hindsight float64 `json:"hindsight_blocks"`
	Time      float64 `json:"time_by_hindsight"`
	Fixed     []Fixed `json:"fixed"`
}

// Fixed is what a fixed number of blocks gives of a row.
type Fixed struct {
	Blocks  int      `json:"blocks"`
	Width   *float64 `json:"half_width"`
	Seconds float64  `json:"seconds"`
	Time    float64  `json:"time"` // the rule's seconds by this design's
}

// Against is the stopping rule against a fixed number of blocks for all rows.
type Against struct {
	Blocks int `json:"blocks"`
	// ForAll is of the fewest blocks that bring within what is wanted every row
	// that the rule brings there from every start.
	ForAll bool `json:"for_all"`
	// Both, OnlyRule, OnlyFixed and Neither are how many rows come within what is
	// wanted, by their median half width.
	Both      int `json:"both"`
	OnlyRule  int `json:"only_rule"`
	OnlyFixed int `json:"only_fixed"`
	Neither   int `json:"neither"`
	// Reached is the median of [Fixed.Time] over the rows that both bring within
	// it, and All that over all rows; 0 of none.
	Reached float64 `json:"median_time_reached"`
	All     float64 `json:"median_time_all"`
	// Total is the rule's seconds for every trial of every case by this design's.
	Total float64 `json:"total_time"`
}

// Ran is a run to replay.
type Ran struct {
	Plan     *bench.Plan
	Outcomes iter.Seq2[*bench.Outcome, error]
}

// EvaluateStopping replays the rule on runs of a fixed number of blocks, against
// fixed designs; those of more blocks than a run has are left out.
func EvaluateStopping(u bench.Until, against []int, runs ...Ran) (*Stopping, error) {
	s := &Stopping{Until: u}
	var all []*measured
	for i, r := range runs {
		m, err := measuredOf(r)
		if err != nil {
			return nil, fmt.Errorf("replay the stopping rule: %w", err)
		}
		if i == 0 || m.whole < s.Whole {
			s.Whole = m.whole
		}
		all = append(all, m)
	}
	if s.Whole < u.Max {
		return s, nil
	}
	for k := range replays {
		s.Starts = append(s.Starts, 1+k*s.Whole/replays)
	}
	var cases []*replayedCase
	for _, m := range all {
		found, err := m.replay(u, s.Starts)
		if err != nil {
			return nil, fmt.Errorf("replay the stopping rule: %w", err)
		}
		cases = append(cases, found...)
	}
	designs := slices.DeleteFunc(slices.Clone(against), func(n int) bool { return n > s.Whole })
	asked := len(designs)
	worst := 0
	for _, c := range cases {
		worst = max(worst, c.needs())
	}
	if worst > 0 {
		designs = append(designs, worst)
	}
	for _, c := range cases {
		for _, r := range c.rows {
			s.Rows = append(s.Rows, r.result(c, designs))
		}
	}
	for k, n := range designs {
		a := s.against(cases, k, n)
		a.ForAll = k >= asked
		s.Against = append(s.Against, a)
	}
	return s, nil
}

func (s *Stopping) against(cases []*replayedCase, k, blocks int) Against {
	a := Against{Blocks: blocks}
	var all, reached []float64
	for _, r := range s.Rows {
		f := r.Fixed[k]
		all = append(all, f.Time)
		byRule, byFixed := s.within(r.Width), s.within(f.Width)
		switch {
		case byRule && byFixed:
			a.Both++
			reached = append(reached, f.Time)
		case byRule:
			a.OnlyRule++
		case byFixed:
			a.OnlyFixed++
		default:
			a.Neither++
		}
	}
	if len(all) > 0 {
		a.All = stats.Median(all)
	}
	if len(reached) > 0 {
		a.Reached = stats.Median(reached)
	}
	var rule, fixed float64
	for _, c := range cases {
		r, f := c.seconds(blocks)
		rule, fixed = rule+r, fixed+f
	}
	a.Total = rule / fixed
	return a
}

func (s *Stopping) within(width *float64) bool { return width != nil && *width <= s.Until.Interval }
