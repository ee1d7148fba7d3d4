package spec

import (
	"tare/internal/bench"
)

var untilKeys = []string{"interval", "min", "max"}

// defaultUntil stands where a stopping rule leaves a key out.
var defaultUntil = bench.Until{Interval: 0.03, Min: 5, Max: 30}

// minLook is the fewest blocks after which an interval can be looked at.
const minLook = 3

// replication reads how often every scene is run: blocks, or until. One said by
// --set takes the place of the other said in the file; else both are an error.
func (d *decoder) replication(blocks, until *node, e *Experiment) {
	if blocks != nil && until != nil {
		switch {
		case until.saidBySet() && !blocks.saidBySet():
			blocks = nil
		case blocks.saidBySet() && !until.saidBySet():
			until = nil
		default:
			d.fail(until.place, "until and blocks are both given%w", bench.Hint("blocks is a fixed number, until a rule with a max: keep one"))
		}
	}
	d.integer(blocks, 1, maxBlocks, &e.Blocks)
	if until != nil {
		d.until(until, e)
	}
}

func (d *decoder) until(n *node, e *Experiment) {
	if n.kind != mapping {
		d.fail(n.place, "until is written as a mapping, found %s%w", n.kindName(), bench.Hint("such as: until: {interval: 3%, min: 5, max: 30}"))
		return
	}
	u := defaultUntil
	f := d.fields(n, "until", untilKeys)
	if i := f["interval"]; i != nil {
		d.percent(i, &u.Interval)
		if u.Interval == 0 {
			d.fail(i.place, "%s: an interval has some width%w", i.text, bench.Hint("write it like 3% (or 0.03)"))
		}
	}
	d.integer(f["min"], minLook, maxBlocks, &u.Min)
	if f["max"] == nil {
		u.Max = max(u.Max, u.Min)
	}
	d.integer(f["max"], 1, maxBlocks, &u.Max)
	if u.Max < u.Min {
		at := n.place
		for _, key := range []string{"min", "max"} {
			if f[key] != nil {
				at = f[key].place
			}
		}
		d.fail(at, "max %d is less than min %d", u.Max, u.Min)
	}
	e.Until, e.Blocks = &u, u.Max
}

// saidBySet reports whether the value was first brought in by a --set argument.
func (n *node) saidBySet() bool { return n.place.set != "" }
