// Package stop decides when the platforms of a case have enough blocks: when the
// interval of the headline ratio decides, or is as narrow as was declared
// beforehand. It also decides when a run's time is used up. It replays both from
// the outcomes of a run, and is pure.
package stop

import (
	"fmt"
	"math"

	"tare/internal/analysis/effect"
	"tare/internal/analysis/stats"
	"tare/internal/bench"
	"tare/internal/bench/figure"
	"tare/internal/result"
)

// Rule is a stopping rule with what else a decision depends on.
type Rule struct {
	bench.Until
	Margin float64 // of equivalence
	// Family is how many ratios share a baseline and are decided together.
	Family int
}

// levels are those of the rule's intervals.
func (r *Rule) levels() stats.Levels { return stats.LevelsOf(len(r.Looks), effect.Confidence) }

// Answer is what a look says of one ratio.
type Answer struct {
	// Width is the half width of the usual interval relative to the ratio, NaN without one.
	Width float64
	// Verdict is that of the strict interval if it decides, and empty otherwise.
	Verdict result.Verdict
	// Ends: the ratio needs no more blocks.
	Ends bool
	// Confidence is the level at which the interval is reported if the ratio ends here.
	Confidence float64
}

// Ask asks the rule about the ratios of so many blocks, at a look. What has no interval,
// for too few ratios or one that is not positive and finite, does not end.
func (r *Rule) Ask(ratios []float64) Answer {
	levels := r.levels()
	a := Answer{Width: math.NaN(), Confidence: levels.Usual}
	if len(ratios) < stats.MinTested { // of fewer the levels are not known to suffice
		return a
	}
	x, err := stats.NewRatios(ratios)
	if err != nil {
		return a
	}
	usual, err := x.Interval(levels.Usual)
	if err != nil {
		return a
	}
	a.Width = (usual.High - usual.Low) / 2 / usual.Mid
	if a.Width <= r.Interval {
		a.Ends = true
		return a
	}
	strict, err := x.Interval(levels.Strict)
	if err != nil {
		return a
	}
	switch v := effect.Verdict(strict, r.Margin); {
	case v == result.Equivalent, v == result.Differs && x.P() < (1-levels.Strict)/float64(max(1, r.Family)):
		a.Verdict, a.Ends, a.Confidence = v, true, levels.Strict
	}
	return a
}

// End asks the rule at each of its looks at up to so many blocks, with the ratios of as
// many, and returns where it ends, if it does: at the latest look if no answer does.
func (r *Rule) End(blocks int, ratios func(blocks int) []float64) (end int, a Answer, ended bool) {
	for _, look := range r.Looks {
		if look > blocks {
			break
		}
		if a = r.Ask(ratios(look)); a.Ends || look >= r.Max {
			return look, a, true
		}
	}
	return 0, a, false
}

// say says the answer of what is named: "lxc ±1.2 %", "docker differs".
func (a Answer) say(name string) string {
	switch {
	case a.Verdict == result.Differs:
		return name + " differs"
	case a.Verdict == result.Equivalent:
		return name + " is equivalent"
	case math.IsNaN(a.Width):
		return name + " has no ratio"
	}
	return fmt.Sprintf("%s ±%.1f %%", name, 100*a.Width)
}

// wanted is the width in words.
func (r *Rule) wanted() string { return "±" + figure.Share(r.Interval) }
