package plan

import (
	"fmt"

	"tare/internal/bench"
	"tare/internal/bench/figure"
)

// Allowed is how many blocks the plan's time suffices for, by its estimates: the most there may
// be, or fewer where the budget is used up before. The fewest of a stopping rule are run whatever
// the budget.
func Allowed(p *bench.Plan) int {
	u := p.Until
	if u == nil || u.Budget <= 0 {
		return p.Blocks
	}
	each := 0.0
	for i := range p.Scenes {
		each += p.Scenes[i].Estimate
	}
	rests := map[int]int{}
	for _, t := range p.Idles() {
		rests[t.Block]++
	}
	took := 0.0
	for b := 1; b <= p.Blocks; b++ {
		took += each + float64(rests[b])*(p.Idle+bench.IdleSettle).Seconds()
		if b > u.Min && took > u.Budget.Seconds() {
			return b - 1
		}
	}
	return p.Blocks
}

// Extent says how many trials and blocks a plan comes to and how long that takes: "at most 24
// trials", "3 to 6 blocks" and "about 52 s (3 blocks) to 1 min 40 s (6 blocks)". Where a budget
// allows fewer blocks than the stopping rule does, it bounds all three.
func Extent(p *bench.Plan) (trials, blocks, time string) {
	u := p.Until
	if u == nil {
		return figure.Count(len(p.Trials), "trial"), figure.Count(p.Blocks, "block"), "about " + figure.Span(p.Estimate)
	}
	allowed := Allowed(p)
	least, most, budget := figure.Span(LeastEstimate(p)), figure.Span(p.Estimate), figure.Span(u.Budget.Seconds())
	trials, blocks = figure.Count(len(p.Scenes)*allowed, "trial"), figure.Count(allowed, "block")
	if u.Min < allowed {
		blocks = fmt.Sprintf("%d to %s", u.Min, blocks)
	}
	time = fmt.Sprintf("about %s (%s)", least, figure.Count(u.Min, "block"))
	switch {
	case allowed == p.Blocks && u.Min == p.Blocks:
	case allowed == p.Blocks:
		trials = "at most " + trials
		if least != most {
			time += fmt.Sprintf(" to %s (%s)", most, figure.Count(p.Blocks, "block"))
		}
	default:
		trials = "about " + trials
		blocks += " by the budget"
		switch {
		case LeastEstimate(p) > u.Budget.Seconds():
			time += ", more than the budget of " + budget
		case least != budget:
			trials = "up to " + trials
			time += fmt.Sprintf(" to %s (the budget)", budget)
		}
	}
	return trials, blocks, time
}
