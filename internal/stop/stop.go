// Package stop decides when the platforms of a case have enough blocks: when the
// interval of the headline ratio is as narrow as was declared beforehand. It
// replays that from the outcomes of a run. It is pure, and never asks whether a
// ratio differs from 1.
package stop

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare/internal/bench"
	"tare/internal/effect"
	"tare/internal/stats"
)

// Decision is the answer to whether a case ends.
type Decision struct {
	Stop   bool
	Narrow bool   // every platform's interval is as narrow as wanted
	Why    string // in words, for the report; empty where the rule does not look
	Look   int    // index into the declared looks, -1 if the rule does not look after these blocks
	// Confidence is the level of every interval at this look, higher than the
	// one that holds in the end by what looking more than once costs; 0 without
	// a look.
	Confidence float64
	// Widths are the half widths of the intervals relative to the ratio, by
	// platform; one without an interval has none.
	Widths map[string]float64
}

// Within reports whether the interval of what is compared is as narrow as wanted.
func (d Decision) Within(u bench.Until, name string) bool {
	width, ok := d.Widths[name]
	return ok && width <= u.Interval
}

// Decide applies the rule after a number of blocks. The ratios are those of the
// headline metric in block order, by platform; one whose launches all failed is
// there with none. A platform without an interval, for too few ratios or one
// that is not positive and finite, keeps the case going until Max, as does a
// case in which nothing is compared.
func Decide(u bench.Until, ratios map[string][]float64, blocks int) Decision {
	d := Decision{Look: slices.Index(u.Looks, blocks)}
	if d.Look < 0 {
		if d.Stop = blocks >= u.Max; d.Stop {
			d.Why = fmt.Sprintf("%d blocks, the most allowed", blocks)
		}
		return d
	}
	d.Confidence = stats.LookConfidence(u.Looks, d.Look, effect.Confidence)
	d.Widths = make(map[string]float64, len(ratios))
	var narrow, wide []string
	for _, name := range slices.Sorted(maps.Keys(ratios)) {
		i, err := stats.RatioInterval(ratios[name], d.Confidence)
		if err != nil {
			wide = append(wide, name+" has none")
			continue
		}
		width := (i.High - i.Low) / 2 / i.Mid
		d.Widths[name] = width
		said := fmt.Sprintf("%s ±%.1f %%", name, 100*width)
		if d.Within(u, name) {
			narrow = append(narrow, said)
		} else {
			wide = append(wide, said)
		}
	}
	d.Narrow = len(wide) == 0 && len(narrow) > 0
	d.Stop = d.Narrow || blocks >= u.Max
	d.Why = why(d, u, blocks, narrow, wide)
	return d
}

// End asks the rule at each of its looks at up to so many blocks, with the
// ratios of as many, and returns where it ends, if it does.
func End(u bench.Until, blocks int, ratios func(blocks int) map[string][]float64) (end int, d Decision, ended bool) {
	for _, look := range u.Looks {
		if look > blocks {
			break
		}
		if d = Decide(u, ratios(look), look); d.Stop {
			return look, d, true
		}
	}
	return 0, d, false
}

func why(d Decision, u bench.Until, blocks int, narrow, wide []string) string {
	wanted := fmt.Sprintf("±%.3g %%", 100*u.Interval)
	if d.Narrow {
		return fmt.Sprintf("after %d blocks every interval is within %s: %s", blocks, wanted, strings.Join(narrow, ", "))
	}
	open := "nothing to compare"
	if len(wide) > 0 {
		open = fmt.Sprintf("no interval within %s: %s", wanted, strings.Join(wide, ", "))
	}
	if d.Stop {
		return fmt.Sprintf("%d blocks, the most allowed; %s", blocks, open)
	}
	return fmt.Sprintf("after %d blocks %s", blocks, open)
}
