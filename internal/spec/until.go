package spec

import (
	"time"

	"tare/internal/bench"
)

var untilKeys = []string{"interval", "min", "max"}

// defaultUntil holds the defaults of a stopping rule but for the interval, which is
// half the margin: an interval as wide as the margin around 1 is rarely within it.
var defaultUntil = bench.Until{Min: 5, Max: 30}

// BudgetBlocks is the max of a rule with a budget, where none is given.
const BudgetBlocks = 60

// leastBudget is the shortest budget: less is a slip.
const leastBudget = 10 * time.Second

// minLook is the smallest number of blocks that gives an interval.
const minLook = 3

// replication reads how often every scene is run: blocks, or until and budget. If --set gives one
// of both kinds and the file the other, --set wins. Otherwise both together are an error.
func (d *decoder) replication(blocks, until, budget *node, e *Experiment) {
	for _, rule := range []struct {
		n    *node
		name string
		hint bench.Hint
	}{
		{until, "until", "blocks is a fixed number, until a rule with a max: keep one"},
		{budget, "budget", "blocks is a fixed number, budget the time of a rule that ends platforms as they are decided: keep one"},
	} {
		switch {
		case blocks == nil || rule.n == nil:
		case rule.n.saidBySet() && !blocks.saidBySet():
			blocks = nil
		case blocks.saidBySet() && !rule.n.saidBySet():
			until, budget = nil, nil
		default:
			d.fail(rule.n.place, "%s and blocks are both given%w", rule.name, rule.hint)
		}
	}
	d.integer(blocks, 1, MaxBlocks, &e.Blocks)
	if until == nil && budget == nil {
		return
	}
	u := defaultUntil
	u.Interval = NarrowEnough(e.Margin)
	if budget != nil {
		u.Max = BudgetBlocks
		d.duration(budget, leastBudget, &u.Budget)
	}
	if until != nil {
		d.until(until, &u)
	}
	e.Until, e.Blocks = &u, u.Max
}

// NarrowEnough is the half width at which a rule ends a platform unless one is given: half the
// margin, or half the default one where the margin is 0.
func NarrowEnough(margin float64) float64 {
	if margin <= 0 {
		margin = defaultMargin
	}
	return margin / 2
}

func (d *decoder) until(n *node, u *bench.Until) {
	if n.kind != mapping {
		d.fail(n.place, "until is written as a mapping, found %s%w", n.kindName(), bench.Hint("such as: until: {interval: 3%, min: 5, max: 30}"))
		return
	}
	f := d.fields(n, "until", untilKeys)
	if i := f["interval"]; i != nil {
		d.percent(i, &u.Interval)
		if u.Interval == 0 {
			d.fail(i.place, "%s: the interval must be above 0%w", i.text, bench.Hint("write it like 3% (or 0.03)"))
		}
	}
	d.integer(f["min"], minLook, MaxBlocks, &u.Min)
	if f["max"] == nil {
		u.Max = max(u.Max, u.Min)
	}
	d.integer(f["max"], 1, MaxBlocks, &u.Max)
	if u.Max < u.Min {
		at := n.place
		for _, key := range []string{"min", "max"} {
			if f[key] != nil {
				at = f[key].place
			}
		}
		d.fail(at, "max %d is less than min %d", u.Max, u.Min)
	}
}

// rare reads the share of launches that may behave otherwise unseen.
func (d *decoder) rare(n *node, share *float64) {
	if n == nil {
		return
	}
	if d.percent(n, share); *share == 0 {
		d.fail(n.place, "%s: no number of launches rules out every share%w", n.text, bench.Hint("write one like 10% (29 launches) or 1% (299)"))
	}
}

// saidBySet reports whether a --set argument added the value.
func (n *node) saidBySet() bool { return n.place.set != "" }
