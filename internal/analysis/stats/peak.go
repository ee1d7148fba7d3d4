package stats

import (
	"cmp"
	"slices"
)

// Asked is what became of a rate that an open loop asked for: one launch.
type Asked struct {
	Rate, Got float64 // per second
	Answered  float64 // share of what was asked for, of 1
	Latency   float64
}

// PeakBounds are what a rate must keep to be held.
type PeakBounds struct {
	Short   float64 // the share by which what is got may be less than what is asked for
	Errors  float64 // the share of what is asked for that may fail
	Latency float64
	// Window is how long the client asked, in the latency's unit. What was got counts the wait for the
	// last answers too, which in a short window is a share of it; 0 forgives no wait.
	Window float64
}

// kept says whether the server kept up with the rate, however long each answer took.
func (b PeakBounds) kept(a Asked) bool {
	least := (1 - b.Short) * a.Rate
	if b.Window > 0 {
		least *= b.Window / (b.Window + min(a.Latency, b.Latency))
	}
	return a.Got >= least && a.Answered >= 1-b.Errors
}

func (b PeakBounds) held(a Asked) bool { return b.kept(a) && a.Latency <= b.Latency }

// PeakEnd is where a peak lies that the rates asked for do not enclose.
type PeakEnd int

const (
	Enclosed PeakEnd = iota
	Above            // the highest rate is held
	Below            // no rate is
)

// Peak is the highest rate that one block's launches at several rates show to be held. It is looked
// for between the highest rate held and the next. If the server did not keep up with that one, what it
// got done then is its capacity, and the peak. If it did, but answered late, the peak is where the
// inverse of the latency crosses that of the bound on a straight line: in a queue it falls with the
// rate in this way. Where the rates do not enclose it, at is the one nearest to it, or 0 if there is
// none.
func Peak(levels []Asked, b PeakBounds) (at float64, end PeakEnd) {
	levels = slices.SortedFunc(slices.Values(levels), func(a, c Asked) int { return cmp.Compare(a.Rate, c.Rate) })
	last := -1
	for i, l := range levels {
		if b.held(l) {
			last = i
		}
	}
	switch {
	case len(levels) == 0:
		return 0, Below
	case last < 0:
		return levels[0].Rate, Below
	case last == len(levels)-1:
		return levels[last].Rate, Above
	}
	held, next := levels[last], levels[last+1]
	if !b.kept(next) {
		return min(max(next.Got, held.Rate), next.Rate), Enclosed
	}
	part := (1/held.Latency - 1/b.Latency) / (1/held.Latency - 1/next.Latency)
	return held.Rate + part*(next.Rate-held.Rate), Enclosed
}
