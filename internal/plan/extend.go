package plan

import (
	"fmt"
	"slices"
	"time"

	"tare/internal/bench"
	"tare/internal/bench/figure"
	"tare/internal/spec"
)

// More is what a run is given beyond its plan.
type More struct {
	Blocks int           // added to the most there may be
	Budget time.Duration // from now on
	// Spent is the time that the trials took so far, and Finished how many they are.
	Spent    time.Duration
	Finished int
}

// Extend returns the plan with more blocks or more time. Its trials are those of
// the plan, followed by those of more blocks: the order of a seed has no end. A
// plan of a fixed number of blocks gets a stopping rule, whose first look is after
// these blocks: to go on where a result was not decided is to look at it. What the rule
// finds decided there gets no more blocks.
func Extend(p *bench.Plan, m More) (*bench.Plan, error) {
	out := *p
	out.Warnings = slices.Clone(p.Warnings)
	u := bench.Until{Interval: spec.NarrowEnough(p.Margin), Min: p.Blocks, Max: p.Blocks, Looks: []int{p.Blocks}}
	if p.Until != nil {
		u = *p.Until
	}
	blocks := m.Blocks
	if m.Budget > 0 {
		u.Budget = m.Spent + m.Budget
		if blocks == 0 {
			blocks = spec.BudgetBlocks
		}
	}
	u.Max = min(p.Blocks+blocks, spec.MaxBlocks)
	u.Looks = slices.Clone(u.Looks)
	for last := u.Looks[len(u.Looks)-1]; last < u.Max; {
		last = min(last+max(1, last/7), u.Max)
		u.Looks = append(u.Looks, last)
	}
	if n := len(p.Scenes) * u.Max; n > maxTrials {
		return nil, fmt.Errorf("%d trials in %s: at most %d can be planned: %w", n, figure.Count(u.Max, "block"), maxTrials, bench.ErrInvalid)
	}
	out.Until, out.Blocks = &u, u.Max
	all := order(p.Scenes, u.Max, p.Seed)
	first := slices.IndexFunc(all, func(t bench.Trial) bool { return t.Block > p.Blocks })
	if first >= 0 {
		out.Trials = slices.Concat(p.Trials, all[first:])
		out.Estimate = p.Estimate * float64(u.Max) / float64(max(1, p.Blocks))
	}
	out.Exchanged = slices.Clone(p.Exchanged)
	for b := len(p.Exchanged); len(p.Exchanged) > 0 && b < u.Max; b++ { // the cycles once more
		out.Exchanged = append(out.Exchanged, p.Exchanged[b%len(p.Exchanged)])
	}
	if u.Budget > 0 {
		out.Estimate = max(LeastEstimate(&out), min(out.Estimate, u.Budget.Seconds()))
	}
	out.Warnings = append(out.Warnings, fmt.Sprintf("after %s the run was given %s; the levels of its intervals are those of a rule with %s",
		figure.Count(m.Finished, "trial"), m.words(u.Budget), figure.Count(len(u.Looks), "look")))
	return &out, nil
}

// words say what is given, of a budget also what it is in all.
func (m More) words(budget time.Duration) string {
	if m.Budget == 0 {
		return "up to " + figure.Count(m.Blocks, "more block")
	}
	text := figure.Span(m.Budget.Seconds()) + " more"
	if m.Blocks > 0 {
		text += " and up to " + figure.Count(m.Blocks, "more block")
	}
	return fmt.Sprintf("%s, a budget of %s in all", text, figure.Span(budget.Seconds()))
}
